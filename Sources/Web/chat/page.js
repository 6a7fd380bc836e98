/** The page as one script: the build embeds it together with all that it imports. */

import "./main.js";
