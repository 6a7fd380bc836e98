/** The bundle's entry point: the build bundles this module with all its imports into one script. */

import "./main.js";
