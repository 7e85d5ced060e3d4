/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/words.h"

#include "isa/table.h"

#include "isa/words_table.h"

const char *tly_isa_words_of(uint32_t form) {
    return tly_isa_words[tly_isa_form_at(form)->mnemonic];
}

const char *tly_isa_example_of(uint32_t form) {
    return tly_isa_examples[form];
}

const char *tly_isa_tileop_words(const tly_isa_tileop *op) {
    return tly_isa_op_words[op - tly_isa_tileop_at(0)];
}
