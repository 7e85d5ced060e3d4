/* SPDX-License-Identifier: Apache-2.0 */
/* The number format of a tensor's elements. */
#include <string.h>

#include "base/error.h"
#include "num/number.h"
#include "tensor/view.h"

/* The format says which special numbers an extension type has, not how they are encoded. Infinities
 * are those of IEEE 754; NaN without infinity is the all-ones code, as in float8_e4m3. */
static tly_status extension_format(const tly_extension_type *x, tly_format *out, tly_error *error) {
    memset(out, 0, sizeof *out);
    out->tile_code = 255;
    out->name = "extension";
    out->bits = (uint8_t)(x->bit_width <= 128 ? x->bit_width : 0);
    if (!x->is_float) {
        out->klass = x->is_signed ? TLY_CLASS_INT : TLY_CLASS_UINT;
        out->sign_bits = x->is_signed;
    } else {
        out->klass = TLY_CLASS_FLOAT;
        out->sign_bits = x->sign_bits;
        out->exponent_bits = x->exponent_bits;
        out->mantissa_bits = x->mantissa_bits;
        out->bias = (int32_t)(x->exponent_bias <= 32768 ? x->exponent_bias : 0);
        out->inf_rule = x->has_inf ? TLY_SPECIAL_IEEE : TLY_SPECIAL_NONE;
        out->nan_rule = !x->has_nan  ? TLY_SPECIAL_NONE
                        : x->has_inf ? TLY_SPECIAL_IEEE
                                     : TLY_SPECIAL_MAX;
    }
    if (!tly_num_format_ok(out) || (x->has_inf && !x->has_nan) || x->exponent_bias > 32768) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "extension-format",
                             "an extension type of %u bits with %u exponent and %u mantissa bits "
                             "cannot be converted",
                             x->bit_width, x->exponent_bits, x->mantissa_bits);
    }
    return TLY_OK;
}

tly_status tly_tensor_format(const tly_descriptor *descriptor, tly_format *out_format,
                             tly_error *error) {
    const tly_format *known;
    if (descriptor->extension_type != NULL) {
        return extension_format(descriptor->extension_type, out_format, error);
    }
    known = tly_format_find(descriptor->dtype);
    if (known == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "extension-format",
                             "type 0x%02X is private and has no description", descriptor->dtype);
    }
    *out_format = *known;
    return TLY_OK;
}
