#ifndef CNCURSES_SHIM_H
#define CNCURSES_SHIM_H

// With characters beyond ASCII, of which each takes the columns that wcwidth() says.
#ifndef NCURSES_WIDECHAR
#define NCURSES_WIDECHAR 1
#endif
#ifndef _XOPEN_SOURCE_EXTENDED
#define _XOPEN_SOURCE_EXTENDED 1
#endif
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

// What Swift cannot import of ncurses: macros, variables and what takes a FILE.

// Characters are UTF-8, whatever the user's locale says of the rest.
static inline void cncurses_set_locale(void) {
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

// The columns that a character takes where it is drawn; negative for one that is not drawn.
static inline int cncurses_columns(unsigned character) { return wcwidth((wchar_t)character); }

// Takes over the terminal of standard input and output. Null where its type is unknown.
static inline WINDOW *cncurses_begin(void) {
    if (newterm(NULL, stdout, stdin) == NULL) {
        return NULL;
    }
    raw();
    noecho();
    nonl();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    intrflush(stdscr, FALSE);
    set_escdelay(25);
    if (has_colors()) {
        start_color();
        use_default_colors();
    }
    return stdscr;
}

enum {
    cncurses_plain = 0,
    cncurses_bold = A_BOLD,
    cncurses_dim = A_DIM,
    cncurses_reverse = A_REVERSE,
};

// Draws with these attributes and this pair of colours from here on.
static inline void cncurses_set_style(WINDOW *window, unsigned attributes, short pair) {
    wattr_set(window, (attr_t)attributes, pair, NULL);
}

// The next key, or a negative number where there is none. A character is its number, a key with a
// name that plus cncurses_named.
enum { cncurses_named = 0x200000 };
static inline int cncurses_key(WINDOW *window) {
    wint_t key = 0;
    switch (wget_wch(window, &key)) {
    case OK: return (int)key;
    case KEY_CODE_YES: return cncurses_named + (int)key;
    default: return -1;
    }
}

// What terminfo does not name: pastes between marks, and keys with Alt or Control held, as xterm
// and all who followed it send them.
enum {
    cncurses_paste_begins = 2000,
    cncurses_paste_ends,
    cncurses_alt_up,
    cncurses_alt_down,
    cncurses_word_left,
    cncurses_word_right,
};
static inline void cncurses_define_keys(void) {
    define_key("\033[200~", cncurses_paste_begins);
    define_key("\033[201~", cncurses_paste_ends);
    define_key("\033[1;3A", cncurses_alt_up);
    define_key("\033[1;3B", cncurses_alt_down);
    define_key("\033[1;5D", cncurses_word_left);
    define_key("\033[1;5C", cncurses_word_right);
    define_key("\033[1;3D", cncurses_word_left);
    define_key("\033[1;3C", cncurses_word_right);
}

enum {
    cncurses_up = KEY_UP,
    cncurses_down = KEY_DOWN,
    cncurses_left = KEY_LEFT,
    cncurses_right = KEY_RIGHT,
    cncurses_home = KEY_HOME,
    cncurses_end = KEY_END,
    cncurses_page_up = KEY_PPAGE,
    cncurses_page_down = KEY_NPAGE,
    cncurses_delete = KEY_DC,
    cncurses_backspace = KEY_BACKSPACE,
    cncurses_enter = KEY_ENTER,
};

#endif
