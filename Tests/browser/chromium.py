"""The browser of the checks."""

ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]


def launch(playwright, *more):
    """Starts a browser without a window, with more arguments."""
    return playwright.chromium.launch(
        executable_path="/usr/bin/chromium", args=[*ARGUMENTS, *more])
