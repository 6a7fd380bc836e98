#include "CSimdjson.h"

#include <cstring>
#include <memory>
#include <simdjson.h>
#include <type_traits>

using namespace simdjson;

namespace {

// Texts up to this size are read by a parser that keeps its memory, one for each thread.
constexpr size_t kept_bytes = 64 << 10;

template <typename T> T as(csimdjson_value value) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) == sizeof(value),
                  "values of simdjson are a document and an index");
    T result;
    std::memcpy(static_cast<void *>(&result), &value, sizeof value);
    return result;
}

template <typename T> csimdjson_value from(const T &value) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) == sizeof(csimdjson_value),
                  "values of simdjson are a document and an index");
    csimdjson_value result;
    std::memcpy(&result, static_cast<const void *>(&value), sizeof result);
    return result;
}

} // namespace

const char *csimdjson_read(const char *text, size_t count, csimdjson_value *root) {
    static thread_local dom::parser kept(kept_bytes);
    // Its memory is freed when the next text is read.
    static thread_local std::unique_ptr<dom::parser> large;
    large.reset(count > kept_bytes ? new dom::parser() : nullptr);
    dom::element element;
    error_code error = (large ? *large : kept).parse(text, count).get(element);
    if (error) return error_message(error);
    *root = from(element);
    return nullptr;
}

enum csimdjson_kind csimdjson_kind(csimdjson_value value) {
    switch (as<dom::element>(value).type()) {
    case dom::element_type::BOOL: return CSIMDJSON_BOOL;
    case dom::element_type::INT64: return CSIMDJSON_INTEGER;
    case dom::element_type::UINT64: return CSIMDJSON_UNSIGNED;
    case dom::element_type::DOUBLE: return CSIMDJSON_REAL;
    case dom::element_type::STRING: return CSIMDJSON_STRING;
    case dom::element_type::ARRAY: return CSIMDJSON_ARRAY;
    case dom::element_type::OBJECT: return CSIMDJSON_OBJECT;
    case dom::element_type::NULL_VALUE: break;
    }
    return CSIMDJSON_NULL;
}

int csimdjson_bool(csimdjson_value value) {
    bool result = false;
    (void)as<dom::element>(value).get(result);
    return result;
}

int64_t csimdjson_integer(csimdjson_value value) {
    int64_t result = 0;
    (void)as<dom::element>(value).get(result);
    return result;
}

double csimdjson_real(csimdjson_value value) {
    double result = 0;
    (void)as<dom::element>(value).get(result);
    return result;
}

csimdjson_text csimdjson_string(csimdjson_value value) {
    std::string_view text;
    (void)as<dom::element>(value).get(text);
    return {text.data(), text.size()};
}

csimdjson_value csimdjson_array_begin(csimdjson_value array) {
    dom::array all;
    (void)as<dom::element>(array).get(all);
    return from(all.begin());
}

csimdjson_value csimdjson_array_end(csimdjson_value array) {
    dom::array all;
    (void)as<dom::element>(array).get(all);
    return from(all.end());
}

csimdjson_value csimdjson_array_next(csimdjson_value place) {
    return from(++as<dom::array::iterator>(place));
}

csimdjson_value csimdjson_element(csimdjson_value place) {
    return from(*as<dom::array::iterator>(place));
}

csimdjson_value csimdjson_object_begin(csimdjson_value object) {
    dom::object all;
    (void)as<dom::element>(object).get(all);
    return from(all.begin());
}

csimdjson_value csimdjson_object_end(csimdjson_value object) {
    dom::object all;
    (void)as<dom::element>(object).get(all);
    return from(all.end());
}

csimdjson_value csimdjson_object_next(csimdjson_value place) {
    return from(++as<dom::object::iterator>(place));
}

csimdjson_text csimdjson_name(csimdjson_value place) {
    std::string_view name = as<dom::object::iterator>(place).key();
    return {name.data(), name.size()};
}

csimdjson_value csimdjson_member(csimdjson_value place) {
    return from(as<dom::object::iterator>(place).value());
}
