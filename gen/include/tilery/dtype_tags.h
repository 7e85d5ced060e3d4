/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/dtypes.toml: do not edit. */
#ifndef TILERY_DTYPE_TAGS_H
#define TILERY_DTYPE_TAGS_H

#define TLY_F16      0x01 /* float16 */
#define TLY_BF16     0x02 /* bfloat16 */
#define TLY_F32      0x03 /* float32 */
#define TLY_F64      0x04 /* float64 */
#define TLY_I8       0x10 /* int8 */
#define TLY_U8       0x11 /* uint8 */
#define TLY_I16      0x12 /* int16 */
#define TLY_U16      0x13 /* uint16 */
#define TLY_I32      0x14 /* int32 */
#define TLY_U32      0x15 /* uint32 */
#define TLY_I64      0x16 /* int64 */
#define TLY_U64      0x17 /* uint64 */
#define TLY_BOOL     0x20 /* boolean */
#define TLY_F8E4M3   0x40 /* float8_e4m3 */
#define TLY_F8E5M2   0x41 /* float8_e5m2 */
#define TLY_C64      0x50 /* complex64 */
#define TLY_C128     0x51 /* complex128 */
#define TLY_F8E8M0   0x42 /* float8_e8m0 */
#define TLY_F4E2M1   0x43 /* float4_e2m1 */
#define TLY_F6E2M3   0x44 /* float6_e2m3 */
#define TLY_F6E3M2   0x45 /* float6_e3m2 */
#define TLY_F128     0x46 /* float128 */
#define TLY_I4       0x48 /* int4 */
#define TLY_U4       0x49 /* uint4 */
#define TLY_I2       0x4A /* int2 */
#define TLY_U2       0x4B /* uint2 */

/* Formats of the tile machine that are no element types (tly_format_id). */
#define TLY_FORMAT_TF32 0x102
#define TLY_FORMAT_HF32 0x103
#define TLY_FORMAT_HIF8 0x106
#define TLY_FORMAT_E1M2 0x10C
#define TLY_FORMAT_HIF4 0x10E

#endif
