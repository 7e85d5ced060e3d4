/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/dtypes.toml: do not edit. */
static const tly_dtype_info tly_dtype_rows[] = {
    {0x01, 1, 16, 5, 10, 1, 1, 15, "f16", "float16"},
    {0x02, 1, 16, 8, 7, 1, 1, 127, "bf16", "bfloat16"},
    {0x03, 1, 32, 8, 23, 1, 1, 127, "f32", "float32"},
    {0x04, 1, 64, 11, 52, 1, 1, 1023, "f64", "float64"},
    {0x10, 2, 8, 0, 0, 0, 0, 0, "i8", "int8"},
    {0x11, 3, 8, 0, 0, 0, 0, 0, "u8", "uint8"},
    {0x12, 2, 16, 0, 0, 0, 0, 0, "i16", "int16"},
    {0x13, 3, 16, 0, 0, 0, 0, 0, "u16", "uint16"},
    {0x14, 2, 32, 0, 0, 0, 0, 0, "i32", "int32"},
    {0x15, 3, 32, 0, 0, 0, 0, 0, "u32", "uint32"},
    {0x16, 2, 64, 0, 0, 0, 0, 0, "i64", "int64"},
    {0x17, 3, 64, 0, 0, 0, 0, 0, "u64", "uint64"},
    {0x20, 4, 1, 0, 0, 0, 0, 0, "bool", "boolean"},
    {0x40, 1, 8, 4, 3, 2, 0, 7, "f8e4m3", "float8_e4m3"},
    {0x41, 1, 8, 5, 2, 1, 1, 15, "f8e5m2", "float8_e5m2"},
    {0x50, 5, 64, 0, 0, 0, 0, 0, "c64", "complex64"},
    {0x51, 5, 128, 0, 0, 0, 0, 0, "c128", "complex128"},
};

/* Row of each tag plus one; 0: no such type. */
static const uint8_t tly_dtype_row_of_tag[256] = {
    [0x01] = 1,
    [0x02] = 2,
    [0x03] = 3,
    [0x04] = 4,
    [0x10] = 5,
    [0x11] = 6,
    [0x12] = 7,
    [0x13] = 8,
    [0x14] = 9,
    [0x15] = 10,
    [0x16] = 11,
    [0x17] = 12,
    [0x20] = 13,
    [0x40] = 14,
    [0x41] = 15,
    [0x50] = 16,
    [0x51] = 17,
};
