/* SPDX-License-Identifier: Apache-2.0 */
/* The whole public interface of Tilery. Each header also stands alone. */
#ifndef TILERY_TILERY_H
#define TILERY_TILERY_H

#include <tilery/access.h>
#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/family.h>
#include <tilery/gemm.h>
#include <tilery/gemm_module.h>
#include <tilery/http.h>
#include <tilery/import.h>
#include <tilery/nest.h>
#include <tilery/net.h>
#include <tilery/pack.h>
#include <tilery/panel.h>
#include <tilery/pto.h>
#include <tilery/pto_team.h>
#include <tilery/save.h>
#include <tilery/serve.h>
#include <tilery/status.h>
#include <tilery/store.h>
#include <tilery/stream.h>
#include <tilery/tensor.h>
#include <tilery/version.h>
#include <tilery/wire.h>

#endif
