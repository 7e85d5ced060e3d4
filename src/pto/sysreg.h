/* SPDX-License-Identifier: Apache-2.0 */
/* System registers by their 24-bit address (asl/scalar/model/sys/registers,
 * asl/arch/system-registers). */
#ifndef TLY_PTO_SYSREG_H
#define TLY_PTO_SYSREG_H

#include "pto/machine.h"

/* Context registers that the machine itself uses: index in core.context_registers[ring]. */
enum {
    TLY_PTO_ECSTATE = 0x00,
    TLY_PTO_EVBASE = 0x01,
    TLY_PTO_TRAPNO = 0x02,
    TLY_PTO_TRAPARG0 = 0x03,
    TLY_PTO_ECONFIG = 0x07,
    TLY_PTO_IPENDING = 0x08,
    TLY_PTO_TOPEI = 0x09,
    TLY_PTO_EOIEI = 0x0A,
    TLY_PTO_TIMER_TIME = 0x20,
    TLY_PTO_TIMER_TIMECMP = 0x21,
    TLY_PTO_EBARG = 0x40,
    TLY_PTO_EBARG_BPC = 0x41,
    TLY_PTO_EBARG_BPCN = 0x42,
    TLY_PTO_EBARG_TPC = 0x43,
    TLY_PTO_EBARG_RA = 0x44,
    TLY_PTO_EBARG_T = 0x45, /* four of T, then four of U */
    TLY_PTO_EBARG_U = 0x49,
    TLY_PTO_EBARG_EXTRA = 0x4D /* two that a trap clears */
};

/* Each returns false when the access was refused and its fault raised. */
bool tly_pto_sysreg_read(tly_pto_machine *machine, uint32_t address, uint64_t *out_value);
bool tly_pto_sysreg_write(tly_pto_machine *machine, uint32_t address, uint64_t value);
bool tly_pto_sysreg_swap(tly_pto_machine *machine, uint32_t address, uint64_t value,
                         uint64_t *out_old);

/* Marks an interrupt as pending in a ring, or not. */
void tly_pto_set_pending(tly_pto_machine *machine, uint32_t ring, uint32_t interrupt, bool pending);
bool tly_pto_interrupt_enabled(const tly_pto_machine *machine, uint32_t ring, uint32_t interrupt);

#endif
