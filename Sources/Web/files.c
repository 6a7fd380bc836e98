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

    FILE("chat/dialogs/account-forms.js")
#embed "chat/dialogs/account-forms.js"
    FILE("chat/list/action-items.js")
#embed "chat/list/action-items.js"
    FILE("chat/list/active-row.js")
#embed "chat/list/active-row.js"
    FILE("chat/dialogs/alert.js")
#embed "chat/dialogs/alert.js"
    FILE("chat/parts/announcer.js")
#embed "chat/parts/announcer.js"
    FILE("chat/parts/avatar.js")
#embed "chat/parts/avatar.js"
    FILE("chat/parts/banner.js")
#embed "chat/parts/banner.js"
    FILE("chat/dialogs/blocked-people.js")
#embed "chat/dialogs/blocked-people.js"
    FILE("chat/parts/button.js")
#embed "chat/parts/button.js"
    FILE("chat/list/chat-actions.js")
#embed "chat/list/chat-actions.js"
    FILE("chat/list/chat-list.js")
#embed "chat/list/chat-list.js"
    FILE("chat/list/chat-row.js")
#embed "chat/list/chat-row.js"
    FILE("chat/chat.css")
#embed "chat/chat.css"
    FILE("chat/parts/columns.js")
#embed "chat/parts/columns.js"
    FILE("chat/conversation/composer.js")
#embed "chat/conversation/composer.js"
    FILE("chat/dialogs/confirm.js")
#embed "chat/dialogs/confirm.js"
    FILE("chat/conversation/conversation-page.js")
#embed "chat/conversation/conversation-page.js"
    FILE("chat/conversation/conversation.css")
#embed "chat/conversation/conversation.css"
    FILE("chat/conversation/conversation.js")
#embed "chat/conversation/conversation.js"
    FILE("chat/dialogs/dialog.css")
#embed "chat/dialogs/dialog.css"
    FILE("chat/dialogs/dialog.js")
#embed "chat/dialogs/dialog.js"
    FILE("chat/parts/dom.js")
#embed "chat/parts/dom.js"
    FILE("chat/conversation/drafts.js")
#embed "chat/conversation/drafts.js"
    FILE("chat/conversation/edit-bar.js")
#embed "chat/conversation/edit-bar.js"
    FILE("chat/conversation/edit-history.js")
#embed "chat/conversation/edit-history.js"
    FILE("chat/parts/empty-state.js")
#embed "chat/parts/empty-state.js"
    FILE("chat/conversation/file-content.js")
#embed "chat/conversation/file-content.js"
    FILE("chat/conversation/file-urls.js")
#embed "chat/conversation/file-urls.js"
    FILE("chat/dialogs/form-dialog.js")
#embed "chat/dialogs/form-dialog.js"
    FILE("chat/parts/form-field.js")
#embed "chat/parts/form-field.js"
    FILE("chat/parts/formats.js")
#embed "chat/parts/formats.js"
    FILE("chat/gallery/gallery-conversation.js")
#embed "chat/gallery/gallery-conversation.js"
    FILE("chat/gallery/gallery-dialogs.js")
#embed "chat/gallery/gallery-dialogs.js"
    FILE("chat/gallery/gallery-pages.js")
#embed "chat/gallery/gallery-pages.js"
    FILE("chat/gallery/gallery-samples.js")
#embed "chat/gallery/gallery-samples.js"
    FILE("chat/gallery/gallery.css")
#embed "chat/gallery/gallery.css"
    FILE("chat/gallery/gallery.html")
#embed "chat/gallery/gallery.html"
    FILE("chat/gallery/gallery.js")
#embed "chat/gallery/gallery.js"
    FILE("chat/icon.svg")
#embed "chat/icon.svg"
    FILE("chat/parts/icons.js")
#embed "chat/parts/icons.js"
    FILE("chat/conversation/image-content.js")
#embed "chat/conversation/image-content.js"
    FILE("chat/index.html")
#embed "chat/index.html"
    FILE("chat/list/item-actions.js")
#embed "chat/list/item-actions.js"
    FILE("chat/conversation/item-content.js")
#embed "chat/conversation/item-content.js"
    FILE("chat/list/item-form.js")
#embed "chat/list/item-form.js"
    FILE("chat/list/item-row.js")
#embed "chat/list/item-row.js"
    FILE("chat/parts/keyed-list.js")
#embed "chat/parts/keyed-list.js"
    FILE("chat/conversation/load-retry.js")
#embed "chat/conversation/load-retry.js"
    FILE("chat/parts/long-press.js")
#embed "chat/parts/long-press.js"
    FILE("chat/main-page.js")
#embed "chat/main-page.js"
    FILE("chat/main.js")
#embed "chat/main.js"
    FILE("chat/manifest.webmanifest")
#embed "chat/manifest.webmanifest"
    FILE("chat/conversation/message-actions.js")
#embed "chat/conversation/message-actions.js"
    FILE("chat/conversation/message-content.js")
#embed "chat/conversation/message-content.js"
    FILE("chat/conversation/message-details.js")
#embed "chat/conversation/message-details.js"
    FILE("chat/conversation/message-edit.js")
#embed "chat/conversation/message-edit.js"
    FILE("chat/conversation/message-list.js")
#embed "chat/conversation/message-list.js"
    FILE("chat/conversation/message-options.js")
#embed "chat/conversation/message-options.js"
    FILE("chat/conversation/message-row.js")
#embed "chat/conversation/message-row.js"
    FILE("chat/conversation/message-rules.js")
#embed "chat/conversation/message-rules.js"
    FILE("chat/conversation/mounted-rows.js")
#embed "chat/conversation/mounted-rows.js"
    FILE("chat/list/new-chat.js")
#embed "chat/list/new-chat.js"
    FILE("chat/list/notification-offer.js")
#embed "chat/list/notification-offer.js"
    FILE("chat/list/notifications.js")
#embed "chat/list/notifications.js"
    FILE("chat/dialogs/options-sheet.js")
#embed "chat/dialogs/options-sheet.js"
    FILE("chat/parts/pane.js")
#embed "chat/parts/pane.js"
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
    FILE("chat/list/people.js")
#embed "chat/list/people.js"
    FILE("chat/dialogs/photo-viewer.js")
#embed "chat/dialogs/photo-viewer.js"
    FILE("chat/conversation/photo.js")
#embed "chat/conversation/photo.js"
    FILE("chat/conversation/pinned-view.js")
#embed "chat/conversation/pinned-view.js"
    FILE("chat/dialogs/profile-form.js")
#embed "chat/dialogs/profile-form.js"
    FILE("chat/dialogs/profile-picture.js")
#embed "chat/dialogs/profile-picture.js"
    FILE("chat/root.js")
#embed "chat/root.js"
    FILE("chat/route.js")
#embed "chat/route.js"
    FILE("chat/parts/roving-focus.js")
#embed "chat/parts/roving-focus.js"
    FILE("chat/conversation/row-heights.js")
#embed "chat/conversation/row-heights.js"
    FILE("chat/gallery/sample-data.js")
#embed "chat/gallery/sample-data.js"
    FILE("chat/list/search-results.js")
#embed "chat/list/search-results.js"
    FILE("chat/service-worker.js")
#embed "chat/service-worker.js"
    FILE("chat/dialogs/settings.js")
#embed "chat/dialogs/settings.js"
    FILE("chat/dialogs/side-dialogs.js")
#embed "chat/dialogs/side-dialogs.js"
    FILE("chat/list/sidebar.css")
#embed "chat/list/sidebar.css"
    FILE("chat/list/sidebar.js")
#embed "chat/list/sidebar.js"
    FILE("chat/dialogs/sign-in.js")
#embed "chat/dialogs/sign-in.js"
    FILE("chat/parts/spinner.js")
#embed "chat/parts/spinner.js"
    FILE("chat/parts/swipe.js")
#embed "chat/parts/swipe.js"
    FILE("chat/conversation/system-lines.js")
#embed "chat/conversation/system-lines.js"
    FILE("chat/conversation/text-content.js")
#embed "chat/conversation/text-content.js"
    FILE("chat/parts/text-field.js")
#embed "chat/parts/text-field.js"
    FILE("chat/texts.js")
#embed "chat/texts.js"
    FILE("chat/conversation/thumbnail.js")
#embed "chat/conversation/thumbnail.js"
    FILE("chat/conversation/timeline.js")
#embed "chat/conversation/timeline.js"
    FILE("chat/parts/toast.js")
#embed "chat/parts/toast.js"
    FILE("chat/conversation/tombstone-content.js")
#embed "chat/conversation/tombstone-content.js"
    FILE("chat/conversation/typing-indicator.js")
#embed "chat/conversation/typing-indicator.js"
    FILE("chat/conversation/voice-content.js")
#embed "chat/conversation/voice-content.js"
    FILE("chat/conversation/voice-recorder.js")
#embed "chat/conversation/voice-recorder.js"

    FILE("client/network/aborted.js")
#embed "client/network/aborted.js"
    FILE("client/network/account.js")
#embed "client/network/account.js"
    FILE("client/outbox/actions.js")
#embed "client/outbox/actions.js"
    FILE("client/network/browser.js")
#embed "client/network/browser.js"
    FILE("client/network/calls.js")
#embed "client/network/calls.js"
    FILE("client/sync/changes.js")
#embed "client/sync/changes.js"
    FILE("client/client.js")
#embed "client/client.js"
    FILE("client/state/confirmed.js")
#embed "client/state/confirmed.js"
    FILE("client/network/connection.js")
#embed "client/network/connection.js"
    FILE("client/state/conversation.js")
#embed "client/state/conversation.js"
    FILE("client/outbox/delivery.js")
#embed "client/outbox/delivery.js"
    FILE("client/sync/device.js")
#embed "client/sync/device.js"
    FILE("client/sync/engine.js")
#embed "client/sync/engine.js"
    FILE("client/outbox/entries.js")
#embed "client/outbox/entries.js"
    FILE("client/state/events.js")
#embed "client/state/events.js"
    FILE("client/network/failures.js")
#embed "client/network/failures.js"
    FILE("client/sync/feed.js")
#embed "client/sync/feed.js"
    FILE("client/state/fields.js")
#embed "client/state/fields.js"
    FILE("client/sync/files.js")
#embed "client/sync/files.js"
    FILE("client/store/indexeddb.js")
#embed "client/store/indexeddb.js"
    FILE("client/outbox/lanes.js")
#embed "client/outbox/lanes.js"
    FILE("client/sync/loader.js")
#embed "client/sync/loader.js"
    FILE("client/sync/marks.js")
#embed "client/sync/marks.js"
    FILE("client/state/message.js")
#embed "client/state/message.js"
    FILE("client/network/node-time.js")
#embed "client/network/node-time.js"
    FILE("client/network/nodes.js")
#embed "client/network/nodes.js"
    FILE("client/sync/notices.js")
#embed "client/sync/notices.js"
    FILE("client/outbox/operation-store.js")
#embed "client/outbox/operation-store.js"
    FILE("client/outbox/outbox.js")
#embed "client/outbox/outbox.js"
    FILE("client/views/overlay.js")
#embed "client/views/overlay.js"
    FILE("client/store/parts.js")
#embed "client/store/parts.js"
    FILE("client/store/persistence.js")
#embed "client/store/persistence.js"
    FILE("client/sync/push.js")
#embed "client/sync/push.js"
    FILE("client/outbox/rules.js")
#embed "client/outbox/rules.js"
    FILE("client/sync/screen.js")
#embed "client/sync/screen.js"
    FILE("client/sync/search.js")
#embed "client/sync/search.js"
    FILE("client/outbox/sender.js")
#embed "client/outbox/sender.js"
    FILE("client/state/session-tokens.js")
#embed "client/state/session-tokens.js"
    FILE("client/network/session.js")
#embed "client/network/session.js"
    FILE("client/network/sleep.js")
#embed "client/network/sleep.js"
    FILE("client/outbox/stamps.js")
#embed "client/outbox/stamps.js"
    FILE("client/store/store.js")
#embed "client/store/store.js"
    FILE("client/sync/tabs.js")
#embed "client/sync/tabs.js"
    FILE("client/types.js")
#embed "client/types.js"
    FILE("client/sync/typing.js")
#embed "client/sync/typing.js"
    FILE("client/views/views.js")
#embed "client/views/views.js"
    FILE("client/outbox/write-ahead-log.js")
#embed "client/outbox/write-ahead-log.js"

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
