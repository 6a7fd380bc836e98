#ifndef CUNISTRING_SHIM_H
#define CUNISTRING_SHIM_H

#include <stdlib.h>
#include <unicase.h>
#include <uninorm.h>

// The names of the forms are addresses in macros, which Swift cannot import. Each result is freed
// by the caller; null where memory is short or the text is not UTF-8.

static inline uint8_t *cunistring_fold(const uint8_t *text, size_t count, size_t *resultCount) {
    return u8_casefold(text, count, NULL, UNINORM_NFC, NULL, resultCount);
}

static inline uint8_t *cunistring_compose(const uint8_t *text, size_t count, size_t *resultCount) {
    return u8_normalize(UNINORM_NFKC, text, count, NULL, resultCount);
}

#endif
