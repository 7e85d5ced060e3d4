/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_EXPORT_H
#define TILERY_EXPORT_H

/* Marks a symbol as part of the public interface. Everything else is hidden. */
#if defined(__GNUC__)
#define TLY_API __attribute__((visibility("default")))
#else
#define TLY_API
#endif

#ifdef __cplusplus
#define TLY_BEGIN_DECLS extern "C" {
#define TLY_END_DECLS   }
#else
#define TLY_BEGIN_DECLS
#define TLY_END_DECLS
#endif

#endif
