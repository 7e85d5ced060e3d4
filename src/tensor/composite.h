/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_TENSOR_COMPOSITE_H
#define TLY_TENSOR_COMPOSITE_H

/* How the members of a composite make its value (Hurray 1.0, layouts/composite). */
#define TLY_RULE_PARTITION 1 /* their boxes cover it without overlap */
#define TLY_RULE_OVERLAY   2 /* a base, and corrections on it */
#define TLY_RULE_GROUP     3 /* they only belong together */

#endif
