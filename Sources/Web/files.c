#include "Web.h"

#include <string.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

// The page as one script and one sheet, where Sources/Web/bundle has made them.
#if __has_embed("../../.build-pages/page.js") && __has_embed("../../.build-pages/page.css")
#define HAS_BUNDLE 1
#else
#define HAS_BUNDLE 0
#endif

// Begins the next file; its bytes follow by #embed, which needs a line of its own and which clang
// compiles again when the file has changed. The files are texts: a zero byte ends each of them.
#define FILE(path) , 0 } }, { path, (const unsigned char[]) {

static const struct {
    const char *path;
    const unsigned char *bytes;
} files[] = { { "", (const unsigned char[]) { 0

    FILE("chat/account-forms.js")
#embed "chat/account-forms.js"
    FILE("chat/action-items.js")
#embed "chat/action-items.js"
    FILE("chat/active-row.js")
#embed "chat/active-row.js"
    FILE("chat/alert.js")
#embed "chat/alert.js"
    FILE("chat/announcer.js")
#embed "chat/announcer.js"
    FILE("chat/avatar.js")
#embed "chat/avatar.js"
    FILE("chat/banner.js")
#embed "chat/banner.js"
    FILE("chat/blocked-people.js")
#embed "chat/blocked-people.js"
    FILE("chat/button.js")
#embed "chat/button.js"
    FILE("chat/chat-actions.js")
#embed "chat/chat-actions.js"
    FILE("chat/chat-list.js")
#embed "chat/chat-list.js"
    FILE("chat/chat-row.js")
#embed "chat/chat-row.js"
    FILE("chat/chat.css")
#embed "chat/chat.css"
    FILE("chat/columns.js")
#embed "chat/columns.js"
    FILE("chat/composer.js")
#embed "chat/composer.js"
    FILE("chat/confirm.js")
#embed "chat/confirm.js"
    FILE("chat/conversation-page.js")
#embed "chat/conversation-page.js"
    FILE("chat/conversation.css")
#embed "chat/conversation.css"
    FILE("chat/conversation.js")
#embed "chat/conversation.js"
    FILE("chat/dialog.css")
#embed "chat/dialog.css"
    FILE("chat/dialog.js")
#embed "chat/dialog.js"
    FILE("chat/dom.js")
#embed "chat/dom.js"
    FILE("chat/drafts.js")
#embed "chat/drafts.js"
    FILE("chat/edit-bar.js")
#embed "chat/edit-bar.js"
    FILE("chat/edit-history.js")
#embed "chat/edit-history.js"
    FILE("chat/empty-state.js")
#embed "chat/empty-state.js"
    FILE("chat/file-content.js")
#embed "chat/file-content.js"
    FILE("chat/file-urls.js")
#embed "chat/file-urls.js"
    FILE("chat/form-dialog.js")
#embed "chat/form-dialog.js"
    FILE("chat/form-field.js")
#embed "chat/form-field.js"
    FILE("chat/formats.js")
#embed "chat/formats.js"
    FILE("chat/gallery-conversation.js")
#embed "chat/gallery-conversation.js"
    FILE("chat/gallery-dialogs.js")
#embed "chat/gallery-dialogs.js"
    FILE("chat/gallery-pages.js")
#embed "chat/gallery-pages.js"
    FILE("chat/gallery-samples.js")
#embed "chat/gallery-samples.js"
    FILE("chat/gallery.css")
#embed "chat/gallery.css"
    FILE("chat/gallery.html")
#embed "chat/gallery.html"
    FILE("chat/gallery.js")
#embed "chat/gallery.js"
    FILE("chat/icon.svg")
#embed "chat/icon.svg"
    FILE("chat/icons.js")
#embed "chat/icons.js"
    FILE("chat/image-content.js")
#embed "chat/image-content.js"
    FILE("chat/index.html")
#embed "chat/index.html"
    FILE("chat/item-actions.js")
#embed "chat/item-actions.js"
    FILE("chat/item-content.js")
#embed "chat/item-content.js"
    FILE("chat/item-form.js")
#embed "chat/item-form.js"
    FILE("chat/item-row.js")
#embed "chat/item-row.js"
    FILE("chat/keyed-list.js")
#embed "chat/keyed-list.js"
    FILE("chat/load-retry.js")
#embed "chat/load-retry.js"
    FILE("chat/long-press.js")
#embed "chat/long-press.js"
    FILE("chat/main-page.js")
#embed "chat/main-page.js"
    FILE("chat/main.js")
#embed "chat/main.js"
    FILE("chat/manifest.webmanifest")
#embed "chat/manifest.webmanifest"
    FILE("chat/message-actions.js")
#embed "chat/message-actions.js"
    FILE("chat/message-content.js")
#embed "chat/message-content.js"
    FILE("chat/message-details.js")
#embed "chat/message-details.js"
    FILE("chat/message-edit.js")
#embed "chat/message-edit.js"
    FILE("chat/message-list.js")
#embed "chat/message-list.js"
    FILE("chat/message-options.js")
#embed "chat/message-options.js"
    FILE("chat/message-row.js")
#embed "chat/message-row.js"
    FILE("chat/message-rules.js")
#embed "chat/message-rules.js"
    FILE("chat/mounted-rows.js")
#embed "chat/mounted-rows.js"
    FILE("chat/new-chat.js")
#embed "chat/new-chat.js"
    FILE("chat/notification-offer.js")
#embed "chat/notification-offer.js"
    FILE("chat/notifications.js")
#embed "chat/notifications.js"
    FILE("chat/options-sheet.js")
#embed "chat/options-sheet.js"
    FILE("chat/pane.js")
#embed "chat/pane.js"
    FILE("chat/page.css")
#if HAS_BUNDLE
#embed "../../.build-pages/page.css"
#else
#embed "chat/page.css"
#endif
    FILE("chat/page.js")
#if HAS_BUNDLE
#embed "../../.build-pages/page.js"
#else
#embed "chat/page.js"
#endif
    FILE("chat/people.js")
#embed "chat/people.js"
    FILE("chat/photo-viewer.js")
#embed "chat/photo-viewer.js"
    FILE("chat/photo.js")
#embed "chat/photo.js"
    FILE("chat/pinned-view.js")
#embed "chat/pinned-view.js"
    FILE("chat/profile-form.js")
#embed "chat/profile-form.js"
    FILE("chat/profile-picture.js")
#embed "chat/profile-picture.js"
    FILE("chat/root.js")
#embed "chat/root.js"
    FILE("chat/route.js")
#embed "chat/route.js"
    FILE("chat/roving-focus.js")
#embed "chat/roving-focus.js"
    FILE("chat/row-heights.js")
#embed "chat/row-heights.js"
    FILE("chat/sample-data.js")
#embed "chat/sample-data.js"
    FILE("chat/search-results.js")
#embed "chat/search-results.js"
    FILE("chat/service-worker.js")
#embed "chat/service-worker.js"
    FILE("chat/settings.js")
#embed "chat/settings.js"
    FILE("chat/side-dialogs.js")
#embed "chat/side-dialogs.js"
    FILE("chat/sidebar.css")
#embed "chat/sidebar.css"
    FILE("chat/sidebar.js")
#embed "chat/sidebar.js"
    FILE("chat/sign-in.js")
#embed "chat/sign-in.js"
    FILE("chat/spinner.js")
#embed "chat/spinner.js"
    FILE("chat/swipe.js")
#embed "chat/swipe.js"
    FILE("chat/text-content.js")
#embed "chat/text-content.js"
    FILE("chat/text-field.js")
#embed "chat/text-field.js"
    FILE("chat/texts.js")
#embed "chat/texts.js"
    FILE("chat/thumbnail.js")
#embed "chat/thumbnail.js"
    FILE("chat/timeline.js")
#embed "chat/timeline.js"
    FILE("chat/toast.js")
#embed "chat/toast.js"
    FILE("chat/tombstone-content.js")
#embed "chat/tombstone-content.js"
    FILE("chat/typing-indicator.js")
#embed "chat/typing-indicator.js"
    FILE("chat/voice-content.js")
#embed "chat/voice-content.js"
    FILE("chat/voice-recorder.js")
#embed "chat/voice-recorder.js"

    FILE("client/aborted.js")
#embed "client/aborted.js"
    FILE("client/account.js")
#embed "client/account.js"
    FILE("client/browser.js")
#embed "client/browser.js"
    FILE("client/calls.js")
#embed "client/calls.js"
    FILE("client/changes.js")
#embed "client/changes.js"
    FILE("client/chat-actions.js")
#embed "client/chat-actions.js"
    FILE("client/client.js")
#embed "client/client.js"
    FILE("client/confirmed.js")
#embed "client/confirmed.js"
    FILE("client/connection.js")
#embed "client/connection.js"
    FILE("client/conversation.js")
#embed "client/conversation.js"
    FILE("client/delivery.js")
#embed "client/delivery.js"
    FILE("client/device.js")
#embed "client/device.js"
    FILE("client/echo.js")
#embed "client/echo.js"
    FILE("client/echoes.js")
#embed "client/echoes.js"
    FILE("client/engine.js")
#embed "client/engine.js"
    FILE("client/entries.js")
#embed "client/entries.js"
    FILE("client/failures.js")
#embed "client/failures.js"
    FILE("client/feed.js")
#embed "client/feed.js"
    FILE("client/files.js")
#embed "client/files.js"
    FILE("client/indexeddb.js")
#embed "client/indexeddb.js"
    FILE("client/item-actions.js")
#embed "client/item-actions.js"
    FILE("client/leftovers.js")
#embed "client/leftovers.js"
    FILE("client/loader.js")
#embed "client/loader.js"
    FILE("client/marks.js")
#embed "client/marks.js"
    FILE("client/message-actions.js")
#embed "client/message-actions.js"
    FILE("client/message.js")
#embed "client/message.js"
    FILE("client/network.js")
#embed "client/network.js"
    FILE("client/nodes.js")
#embed "client/nodes.js"
    FILE("client/notices.js")
#embed "client/notices.js"
    FILE("client/operation-store.js")
#embed "client/operation-store.js"
    FILE("client/outbox.js")
#embed "client/outbox.js"
    FILE("client/overlay.js")
#embed "client/overlay.js"
    FILE("client/parts.js")
#embed "client/parts.js"
    FILE("client/persistence.js")
#embed "client/persistence.js"
    FILE("client/profiles.js")
#embed "client/profiles.js"
    FILE("client/push.js")
#embed "client/push.js"
    FILE("client/requests.js")
#embed "client/requests.js"
    FILE("client/rollback.js")
#embed "client/rollback.js"
    FILE("client/rules.js")
#embed "client/rules.js"
    FILE("client/screen.js")
#embed "client/screen.js"
    FILE("client/search.js")
#embed "client/search.js"
    FILE("client/sender.js")
#embed "client/sender.js"
    FILE("client/session.js")
#embed "client/session.js"
    FILE("client/sleep.js")
#embed "client/sleep.js"
    FILE("client/store.js")
#embed "client/store.js"
    FILE("client/tabs.js")
#embed "client/tabs.js"
    FILE("client/types.js")
#embed "client/types.js"
    FILE("client/typing.js")
#embed "client/typing.js"
    FILE("client/views.js")
#embed "client/views.js"
    FILE("client/write-ahead-log.js")
#embed "client/write-ahead-log.js"

    FILE("cluster/chart.js")
#embed "cluster/chart.js"
    FILE("cluster/cluster.css")
#embed "cluster/cluster.css"
    FILE("cluster/elements.js")
#embed "cluster/elements.js"
    FILE("cluster/grid.js")
#embed "cluster/grid.js"
    FILE("cluster/icon.svg")
#embed "cluster/icon.svg"
    FILE("cluster/index.html")
#embed "cluster/index.html"
    FILE("cluster/main.js")
#embed "cluster/main.js"
    FILE("cluster/model.js")
#embed "cluster/model.js"
    FILE("cluster/picture.js")
#embed "cluster/picture.js"
    FILE("cluster/play.js")
#embed "cluster/play.js"
    FILE("cluster/poll.js")
#embed "cluster/poll.js"
    FILE("cluster/table.js")
#embed "cluster/table.js"
    FILE("cluster/texts.js")
#embed "cluster/texts.js"
    FILE("cluster/timeline.js")
#embed "cluster/timeline.js"
    FILE("cluster/types.js")
#embed "cluster/types.js"

    , 0 } } };

// The entry before the first file is empty.
unsigned long web_file_count(void) { return sizeof files / sizeof *files - 1; }

struct web_file web_file(unsigned long index) {
    const unsigned char *bytes = files[index + 1].bytes;
    return (struct web_file){files[index + 1].path, bytes, strlen((const char *)bytes)};
}
