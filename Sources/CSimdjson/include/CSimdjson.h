#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stdint.h>
#include <stddef.h>

// The reader of simdjson, whose interface is C++, for Swift.

#ifdef __cplusplus
extern "C" {
#endif

enum csimdjson_kind {
    CSIMDJSON_NULL,
    CSIMDJSON_BOOL,
    CSIMDJSON_INTEGER,
    // A whole number that only an unsigned one of 64 bits holds.
    CSIMDJSON_UNSIGNED,
    CSIMDJSON_REAL,
    CSIMDJSON_STRING,
    CSIMDJSON_ARRAY,
    CSIMDJSON_OBJECT,
};

// A value, or a place between the values of an array or the members of an object. It is valid until
// the next text is read on this thread.
struct csimdjson_value {
    const void *document;
    size_t index;
};

struct csimdjson_text {
    const char *bytes;
    size_t count;
};

// Reads a text. Returns what is wrong with it, or null.
const char *csimdjson_read(const char *text, size_t count, struct csimdjson_value *root);

enum csimdjson_kind csimdjson_kind(struct csimdjson_value value);

// Each for a value of its kind only.
int csimdjson_bool(struct csimdjson_value value);
int64_t csimdjson_integer(struct csimdjson_value value);
double csimdjson_real(struct csimdjson_value value);
struct csimdjson_text csimdjson_string(struct csimdjson_value value);

// The places in an array or object: from the first, by `next`, up to the end.
struct csimdjson_value csimdjson_array_begin(struct csimdjson_value array);
struct csimdjson_value csimdjson_array_end(struct csimdjson_value array);
struct csimdjson_value csimdjson_array_next(struct csimdjson_value place);
struct csimdjson_value csimdjson_element(struct csimdjson_value place);
struct csimdjson_value csimdjson_object_begin(struct csimdjson_value object);
struct csimdjson_value csimdjson_object_end(struct csimdjson_value object);
struct csimdjson_value csimdjson_object_next(struct csimdjson_value place);
struct csimdjson_text csimdjson_name(struct csimdjson_value place);
struct csimdjson_value csimdjson_member(struct csimdjson_value place);

#ifdef __cplusplus
}
#endif

#endif
