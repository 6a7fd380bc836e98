"""The browser of the checks."""

# Without a GPU, Debian's chromium draws by a model of one, which takes most of its time.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
             "--disable-gpu-rasterization", "--disable-software-rasterizer"]


def launch(playwright, *more):
    """Starts a browser without a window, with more arguments."""
    return playwright.chromium.launch(
        executable_path="/usr/bin/chromium", args=[*ARGUMENTS, *more])
