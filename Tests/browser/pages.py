"""Pages that a script has left, for the next one: making a page takes longer than most scripts.

A page is as new when it is taken: all that its origin has stored is gone.
"""

import collections
import json

FREE = collections.defaultdict(list)


def take(browser, options):
    """A page with these options of a context, which is no script's at present."""
    free = FREE[json.dumps(options)]
    return free.pop() if free else make(browser, options)


def make(browser, options):
    context = browser.new_context(**options)
    context.set_default_timeout(4000)
    return context.new_page()


def give_back(page, options):
    """Leaves a page, the first of its context, to another script."""
    for tab in page.context.pages[1:]:
        tab.close()
    origin = page.evaluate("location.origin")
    page.goto("about:blank")
    page.set_viewport_size(options["viewport"])
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    session.detach()
    FREE[json.dumps(options)].append(page)
