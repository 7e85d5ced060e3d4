/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one vector level. The including file defines, for vectors of LANES * 16 bytes:
 *
 *   vec                        the type of a vector
 *   LANES                      16-byte lanes in it
 *   v_load(p), v_store(p, v), v_stream(p, v)          any alignment; v_stream wants a full one
 *   v_load_lanes(p, stride)    lane i from p + i * stride, 16 bytes each
 *   v_lo8|16|32|64(a, b), v_hi8|16|32|64(a, b)        in each lane, interleaves the lower or the
 *                              upper halves of a and b, elements of so many bits
 *   v_spread2(v)               64-bit parts so that lane i holds parts i and LANES + i
 *   v_spread4(v)               32-bit parts so that lane i holds parts i, LANES + i, 2 LANES + i,
 * ... half, h_load(p), h_store(p, h), h_lo8|..., h_hi8|...   the same for 16 bytes h_load8(p) 8
 * bytes into the lower part of a half v_fence()                  after the last v_stream KERNELS
 * the name of the table
 *
 * A transpose of N x N elements in a lane is log2(N) rounds of interleaving vector i with i + N/2.
 */

#include <string.h>

#define VEC_LEN    ((size_t)LANES * 16)
#define ROWS_AHEAD 8 /* rows from the one being copied to the one being fetched */
#define FLAT       static inline __attribute__((always_inline)) /* so that widths are constants */

FLAT vec v_lo(vec a, vec b, size_t width) {
    return width == 1   ? v_lo8(a, b)
           : width == 2 ? v_lo16(a, b)
           : width == 4 ? v_lo32(a, b)
                        : v_lo64(a, b);
}

FLAT vec v_hi(vec a, vec b, size_t width) {
    return width == 1   ? v_hi8(a, b)
           : width == 2 ? v_hi16(a, b)
           : width == 4 ? v_hi32(a, b)
                        : v_hi64(a, b);
}

FLAT half h_lo(half a, half b, size_t width) {
    return width == 1   ? h_lo8(a, b)
           : width == 2 ? h_lo16(a, b)
           : width == 4 ? h_lo32(a, b)
                        : h_lo64(a, b);
}

FLAT half h_hi(half a, half b, size_t width) {
    return width == 1   ? h_hi8(a, b)
           : width == 2 ? h_hi16(a, b)
           : width == 4 ? h_hi32(a, b)
                        : h_hi64(a, b);
}

FLAT void v_put(uint8_t *p, vec v, int stream) {
    if (stream) {
        v_stream(p, v);
    } else {
        v_store(p, v);
    }
}

FLAT void h_put(uint8_t *p, half h, int stream) {
    if (stream) {
        h_stream(p, h);
    } else {
        h_store(p, h);
    }
}

FLAT void copy_element(uint8_t *dst, const uint8_t *src, size_t width) {
    switch (width) {
    case 1:
        *dst = *src;
        break;
    case 2:
        memcpy(dst, src, 2);
        break;
    case 4:
        memcpy(dst, src, 4);
        break;
    default:
        memcpy(dst, src, 8);
        break;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Up to one vector; the pieces may overlap, and stay inside the run. */
FLAT void copy_short(uint8_t *dst, const uint8_t *src, size_t len) {
    if (len >= 32 && VEC_LEN > 32) {
        half a = h_load(src), b = h_load(src + 16);
        half c = h_load(src + len - 32), d = h_load(src + len - 16);
        h_store(dst, a);
        h_store(dst + 16, b);
        h_store(dst + len - 32, c);
        h_store(dst + len - 16, d);
    } else if (len >= 16) {
        half a = h_load(src), b = h_load(src + len - 16);
        h_store(dst, a);
        h_store(dst + len - 16, b);
    } else if (len >= 8) {
        uint64_t a, b;
        memcpy(&a, src, 8);
        memcpy(&b, src + len - 8, 8);
        memcpy(dst, &a, 8);
        memcpy(dst + len - 8, &b, 8);
    } else if (len >= 4) {
        uint32_t a, b;
        memcpy(&a, src, 4);
        memcpy(&b, src + len - 4, 4);
        memcpy(dst, &a, 4);
        memcpy(dst + len - 4, &b, 4);
    } else {
        for (size_t i = 0; i < len; i++) {
            dst[i] = src[i];
        }
    }
}

FLAT void copy_run(uint8_t *dst, const uint8_t *src, size_t len) {
    size_t i = 0;
    if (len < VEC_LEN) {
        copy_short(dst, src, len);
        return;
    }
    for (; i + VEC_LEN <= len; i += VEC_LEN) {
        v_store(dst + i, v_load(src + i));
    }
    if (i < len) {
        v_store(dst + len - VEC_LEN, v_load(src + len - VEC_LEN));
    }
}

/* dst is aligned. */
FLAT void stream_run(uint8_t *dst, const uint8_t *src, size_t len) {
    size_t i = 0;
    for (; i + 4 * VEC_LEN <= len; i += 4 * VEC_LEN) {
        vec a = v_load(src + i), b = v_load(src + i + VEC_LEN);
        vec c = v_load(src + i + 2 * VEC_LEN), d = v_load(src + i + 3 * VEC_LEN);
        v_stream(dst + i, a);
        v_stream(dst + i + VEC_LEN, b);
        v_stream(dst + i + 2 * VEC_LEN, c);
        v_stream(dst + i + 3 * VEC_LEN, d);
    }
    for (; i + VEC_LEN <= len; i += VEC_LEN) {
        v_stream(dst + i, v_load(src + i));
    }
    copy_short(dst + i, src + i, len - i);
}

/* Does every tile begin where a whole vector may be streamed to? */
static inline int tiles_aligned(const pack_job *job) {
    return (((uintptr_t)job->dst | (job->nr > 1 ? (uint64_t)job->r_dst : 0)) % VEC_LEN) == 0;
}

/* Rows of whole vectors, all aligned. */
FLAT void stream_rows(const pack_job *job, size_t len) {
    for (size_t r = 0; r < job->nr; r++) {
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        for (size_t p = 0; p < job->np; p++) {
            stream_run(dst, src, len);
            dst += job->p_dst;
            src += job->p_src;
        }
    }
}

/* Rows of 16 or 32 bytes that follow each other in the destination: its lines fill up in order. */
FLAT void stream_short_rows(const pack_job *job, size_t len) {
    for (size_t r = 0; r < job->nr; r++) {
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        for (size_t p = 0; p < job->np; p++) {
            for (size_t i = 0; i < len; i += 16) {
                h_stream(dst + i, h_load(src + i));
            }
            dst += len;
            src += job->p_src;
        }
    }
}

/* Rows that go down the source: no processor guesses where the next one lies. */
static void rows_down(const pack_job *job, size_t len, int stream) {
    uint8_t *dst = job->dst;
    const uint8_t *src = job->src;
    for (size_t p = 0; p < job->np; p++) {
        const uint8_t *later = src + ROWS_AHEAD * job->p_src;
        for (size_t i = 0; i < len; i += 64) {
            v_prefetch(later + i);
        }
        if (stream) {
            stream_run(dst, src, len);
        } else {
            copy_run(dst, src, len);
        }
        dst += job->p_dst;
        src += job->p_src;
    }
}

FLAT void rows_round(const pack_job *job) {
    size_t len = job->nq * job->width;
    int even = tiles_aligned(job) && len % VEC_LEN == 0 &&
               (job->np == 1 || (uint64_t)job->p_dst % VEC_LEN == 0);
    if ((job->p_src >= 2048 || job->p_src <= -2048) && len <= 1024 &&
        (job->nr == 1 || (job->r_src == (int64_t)job->np * job->p_src &&
                          job->r_dst == (int64_t)job->np * job->p_dst)) &&
        job->np * job->nr > 2 * ROWS_AHEAD) {
        pack_job down = *job;
        down.np *= down.nr;
        rows_down(&down, len, job->stream && even);
        return;
    }
    if (job->stream && even) {
        switch (len) { /* panels so common that they deserve straight code */
        case 32:
            stream_rows(job, 32);
            break;
        case 64:
            stream_rows(job, 64);
            break;
        case 128:
            stream_rows(job, 128);
            break;
        case 256:
            stream_rows(job, 256);
            break;
        default:
            stream_rows(job, len);
            break;
        }
        return;
    }
    if (job->stream && (len == 16 || len == 32) && job->p_dst == (int64_t)len &&
        ((uintptr_t)job->dst | (job->nr > 1 ? (uint64_t)job->r_dst : 0)) % 64 == 0) {
        if (len == 16) {
            stream_short_rows(job, 16);
        } else {
            stream_short_rows(job, 32);
        }
        return;
    }
    for (size_t r = 0; r < job->nr; r++) {
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        for (size_t p = 0; p < job->np; p++) {
            if (job->stream && len >= 4096) { /* worth bringing to the alignment by itself */
                size_t head = -(uintptr_t)dst % VEC_LEN;
                copy_short(dst, src, head);
                stream_run(dst + head, src + head, len - head);
            } else {
                copy_run(dst, src, len);
            }
            dst += job->p_dst;
            src += job->p_src;
        }
    }
}

/* ---- zips ------------------------------------------------------------------------------------ */

/* Tiles that go down the source: fetches the rows of one that comes soon. */
FLAT void fetch_ahead(const pack_job *job, const uint8_t *src, size_t num_rows, size_t width) {
    const uint8_t *row = src + (int64_t)(ROWS_AHEAD / num_rows) * job->r_src;
    for (size_t q = 0; q < num_rows; q++, row += job->q_src) {
        for (size_t i = 0; i < job->np * width; i += 64) {
            v_prefetch(row + i);
        }
    }
}

FLAT int goes_down(const pack_job *job) {
    return job->nr > 2 * ROWS_AHEAD && (job->r_src >= 2048 || job->r_src <= -2048);
}

FLAT void zip2(const pack_job *job, size_t width, int stream) {
    const size_t turn = VEC_LEN / width;
    const int down = goes_down(job);
    for (size_t r = 0; r < job->nr; r++) {
        const uint8_t *a = job->src + (int64_t)r * job->r_src, *b = a + job->q_src;
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        size_t p = 0;
        if (down) {
            fetch_ahead(job, a, 2, width);
        }
        for (; p + turn <= job->np; p += turn) {
            vec x = v_spread2(v_load(a + p * width)), y = v_spread2(v_load(b + p * width));
            v_put(dst + p * 2 * width, v_lo(x, y, width), stream);
            v_put(dst + p * 2 * width + VEC_LEN, v_hi(x, y, width), stream);
        }
        for (; p < job->np; p++) {
            copy_element(dst + p * 2 * width, a + p * width, width);
            copy_element(dst + (p * 2 + 1) * width, b + p * width, width);
        }
    }
}

FLAT void zip4(const pack_job *job, size_t width, int stream) {
    const size_t turn = VEC_LEN / width;
    const int down = goes_down(job);
    for (size_t r = 0; r < job->nr; r++) {
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        size_t p = 0;
        if (down) {
            fetch_ahead(job, src, 4, width);
        }
        for (; p + turn <= job->np; p += turn) {
            const uint8_t *a = src + p * width, *b = a + job->q_src;
            const uint8_t *c = b + job->q_src, *d = c + job->q_src;
            uint8_t *to = dst + p * 4 * width;
            vec v0 = v_spread4(v_load(a)), v1 = v_spread4(v_load(b));
            vec v2 = v_spread4(v_load(c)), v3 = v_spread4(v_load(d));
            vec e0 = v_lo(v0, v2, width), e1 = v_hi(v0, v2, width);
            vec o0 = v_lo(v1, v3, width), o1 = v_hi(v1, v3, width);
            v_put(to, v_lo(e0, o0, width), stream);
            v_put(to + VEC_LEN, v_hi(e0, o0, width), stream);
            v_put(to + 2 * VEC_LEN, v_lo(e1, o1, width), stream);
            v_put(to + 3 * VEC_LEN, v_hi(e1, o1, width), stream);
        }
        for (; p < job->np; p++) {
            for (size_t q = 0; q < 4; q++) {
                copy_element(dst + (p * 4 + q) * width, src + p * width + (int64_t)q * job->q_src,
                             width);
            }
        }
    }
}

/* ---- transposes ------------------------------------------------------------------------------ */

/* 16/width rows and columns in each lane: rows q, q + 16/width, ... of the source. */
FLAT void transpose_lanes(uint8_t *dst, const uint8_t *src, int64_t p_dst, int64_t q_src,
                          size_t width, int stream) {
    const int n = (int)(16 / width);
    vec v[16], t[16];
    for (int i = 0; i < n; i++) {
        v[i] = v_load_lanes(src + i * q_src, n * q_src);
    }
    for (int round = 1; round < n; round *= 2) {
        for (int i = 0; i < n / 2; i++) {
            t[2 * i] = v_lo(v[i], v[i + n / 2], width);
            t[2 * i + 1] = v_hi(v[i], v[i + n / 2], width);
        }
        for (int i = 0; i < n; i++) {
            v[i] = t[i];
        }
    }
    for (int i = 0; i < n; i++) {
        v_put(dst + i * p_dst, v[i], stream);
    }
}

/* One lane: 16/width columns. */
FLAT void transpose_lane(uint8_t *dst, const uint8_t *src, int64_t p_dst, int64_t q_src,
                         size_t width, int stream) {
    const int n = (int)(16 / width);
    half v[16], t[16];
    for (int i = 0; i < n; i++) {
        v[i] = h_load(src + i * q_src);
    }
    for (int round = 1; round < n; round *= 2) {
        for (int i = 0; i < n / 2; i++) {
            t[2 * i] = h_lo(v[i], v[i + n / 2], width);
            t[2 * i + 1] = h_hi(v[i], v[i + n / 2], width);
        }
        for (int i = 0; i < n; i++) {
            v[i] = t[i];
        }
    }
    for (int i = 0; i < n; i++) {
        h_put(dst + i * p_dst, v[i], stream);
    }
}

/* One lane with half as many columns: the source gives 8 bytes a row, so the first round joins two
 * rows into one vector, and the rest goes on with half as many. */
FLAT void transpose_half(uint8_t *dst, const uint8_t *src, int64_t p_dst, int64_t q_src,
                         size_t width, int stream) {
    const int n = (int)(16 / width), m = n / 2;
    half v[8], t[8];
    for (int i = 0; i < m; i++) {
        v[i] = h_lo(h_load8(src + i * q_src), h_load8(src + (i + m) * q_src), width);
    }
    for (int round = 1; round < m; round *= 2) {
        for (int i = 0; i < m / 2; i++) {
            t[2 * i] = h_lo(v[i], v[i + m / 2], width);
            t[2 * i + 1] = h_hi(v[i], v[i + m / 2], width);
        }
        for (int i = 0; i < m; i++) {
            v[i] = t[i];
        }
    }
    for (int i = 0; i < m; i++) {
        h_put(dst + i * p_dst, v[i], stream);
    }
}

/* One lane with half as many rows: the last round is left out, and each vector ends as two columns
 * of 8 bytes. */
FLAT void transpose_narrow(uint8_t *dst, const uint8_t *src, int64_t p_dst, int64_t q_src,
                           size_t width) {
    const int n = (int)(16 / width), m = n / 2;
    half v[8], t[8];
    for (int i = 0; i < m; i++) {
        v[i] = h_load(src + i * q_src);
    }
    for (int round = 1; round < m; round *= 2) {
        for (int i = 0; i < m / 2; i++) {
            t[2 * i] = h_lo(v[i], v[i + m / 2], width);
            t[2 * i + 1] = h_hi(v[i], v[i + m / 2], width);
        }
        for (int i = 0; i < m; i++) {
            v[i] = t[i];
        }
    }
    for (int i = 0; i < m; i++) {
        uint8_t pair[16];
        h_store(pair, v[i]);
        memcpy(dst + 2 * i * p_dst, pair, 8);
        memcpy(dst + (2 * i + 1) * p_dst, pair + 8, 8);
    }
}

FLAT void transpose_scalar(uint8_t *dst, const uint8_t *src, size_t np, size_t nq,
                           const pack_job *job, size_t width) {
    for (size_t p = 0; p < np; p++) {
        for (size_t q = 0; q < nq; q++) {
            copy_element(dst + (int64_t)p * job->p_dst + q * width,
                         src + (int64_t)q * job->q_src + p * width, width);
        }
    }
}

/* 64 bytes of the destination at a time for 16/width columns: whole cache lines, which can go round
 * the cache. Lines and tiles are aligned. */
FLAT void transpose_lines(uint8_t *dst, const uint8_t *src, int64_t p_dst, int64_t q_src,
                          size_t width) {
    const int n = (int)(16 / width), parts = 4 / LANES;
    vec v[4 / LANES][16], t[16];
    for (int part = 0; part < parts; part++) {
        const uint8_t *from = src + part * LANES * n * q_src;
        for (int i = 0; i < n; i++) {
            v[part][i] = v_load_lanes(from + i * q_src, n * q_src);
        }
        for (int round = 1; round < n; round *= 2) {
            for (int i = 0; i < n / 2; i++) {
                t[2 * i] = v_lo(v[part][i], v[part][i + n / 2], width);
                t[2 * i + 1] = v_hi(v[part][i], v[part][i + n / 2], width);
            }
            for (int i = 0; i < n; i++) {
                v[part][i] = t[i];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        for (int part = 0; part < parts; part++) {
            v_stream(dst + i * p_dst + part * (int64_t)VEC_LEN, v[part][i]);
        }
    }
}

/* Tiles whose columns are one vector (or one lane) long and follow each other in the destination.
 */
FLAT void transpose_stream(const pack_job *job, size_t width, int lanes) {
    const size_t side = 16 / width;
    for (size_t r = 0; r < job->nr; r++) {
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        size_t p = 0;
        for (; p + side <= job->np; p += side) {
            if (lanes) {
                transpose_lanes(dst + p * VEC_LEN, src + p * width, VEC_LEN, job->q_src, width, 1);
            } else {
                transpose_lane(dst + p * 16, src + p * width, 16, job->q_src, width, 1);
            }
        }
        if (!lanes && side >= 2 && p + side / 2 <= job->np) {
            transpose_half(dst + p * 16, src + p * width, 16, job->q_src, width, 1);
        }
    }
}

/* Rows of the source in groups that fill a vector of the destination (a cache line if it is
 * streamed); in a group along the source, so that its cache lines are used up while they are near.
 */
FLAT void transpose_any(const pack_job *job, size_t width) {
    const size_t side = 16 / width, group = side * LANES, line = 64 / width;
    const int stream = job->stream && job->p_dst % 64 == 0 && (uintptr_t)job->dst % 64 == 0 &&
                       (job->nr == 1 || job->r_dst % 64 == 0);
    for (size_t r = 0; r < job->nr; r++) {
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        size_t q = 0;
        while (q < job->nq) {
            const uint8_t *from = src + (int64_t)q * job->q_src;
            uint8_t *to = dst + q * width;
            size_t left = job->nq - q, p = 0;
            size_t rows_here = stream && left >= line ? line
                               : left >= group        ? group
                               : left >= side         ? side
                               : left >= side / 2     ? side / 2
                                                      : left;
            if (rows_here == line && stream) {
                for (; p + side <= job->np; p += side) {
                    if (p * width % 64 == 0) {
                        for (size_t i = 0; i < line; i++) {
                            v_prefetch(from + (int64_t)i * job->q_src + p * width + 64);
                        }
                    }
                    transpose_lines(to + (int64_t)p * job->p_dst, from + p * width, job->p_dst,
                                    job->q_src, width);
                }
            } else if (rows_here == group) {
                for (; p + side <= job->np; p += side) {
                    transpose_lanes(to + (int64_t)p * job->p_dst, from + p * width, job->p_dst,
                                    job->q_src, width, 0);
                }
            } else if (rows_here == side) {
                for (; p + side <= job->np; p += side) {
                    transpose_lane(to + (int64_t)p * job->p_dst, from + p * width, job->p_dst,
                                   job->q_src, width, 0);
                }
                if (side >= 2 && p + side / 2 <= job->np) {
                    transpose_half(to + (int64_t)p * job->p_dst, from + p * width, job->p_dst,
                                   job->q_src, width, 0);
                    p += side / 2;
                }
            } else if (rows_here == side / 2 && side >= 4) {
                for (; p + side <= job->np; p += side) {
                    transpose_narrow(to + (int64_t)p * job->p_dst, from + p * width, job->p_dst,
                                     job->q_src, width);
                }
            }
            transpose_scalar(to + (int64_t)p * job->p_dst, from + p * width, job->np - p, rows_here,
                             job, width);
            q += rows_here;
        }
    }
}

/* 16/width rows and columns, for columns of 16 bytes that follow each other in the destination,
 * `columns` of them in a tile: the rows are spread over the lanes, so that fewer rounds leave parts
 * of columns, and whole vectors of columns are stored. */
FLAT void transpose_short(uint8_t *dst, const uint8_t *src, int64_t q_src, int64_t r_dst,
                          size_t width, size_t columns, int stream) {
    const int n = (int)(16 / width), m = n / LANES;
    vec v[16], t[16];
    for (int i = 0; i < m; i++) {
        v[i] = v_load_lanes(src + i * q_src, m * q_src);
    }
    for (int round = 1; round < m; round *= 2) {
        for (int i = 0; i < m / 2; i++) {
            t[2 * i] = v_lo(v[i], v[i + m / 2], width);
            t[2 * i + 1] = v_hi(v[i], v[i + m / 2], width);
        }
        for (int i = 0; i < m; i++) {
            v[i] = t[i];
        }
    }
    for (int i = 0; i < m; i++) {
        size_t column = (size_t)i * LANES;
        v_put(dst + (int64_t)(column / columns) * r_dst + column % columns * 16,
              LANES == 2 ? v_spread2(v[i]) : v_spread4(v[i]), stream);
    }
}

/* Tiles of 16/width rows. */
FLAT void transpose_all_short(const pack_job *job, size_t width) {
    const size_t side = 16 / width, np = job->np;
    const int64_t q_src = job->q_src; /* the compiler must not fear for them */
    for (size_t r = 0; r < job->nr; r++) {
        const uint8_t *src = job->src + (int64_t)r * job->r_src;
        uint8_t *dst = job->dst + (int64_t)r * job->r_dst;
        for (size_t p = 0; p < np; p += side) {
            transpose_short(dst + p * 16, src + p * width, q_src, 0, width, side, 0);
        }
    }
}

/* Tiles half as wide that lie side by side in the source: two at a time. */
FLAT void transpose_beside(const pack_job *job, size_t width, int stream) {
    const int64_t q_src = job->q_src, r_dst = job->r_dst;
    const size_t pairs = job->nr / 2;
    const uint8_t *src = job->src;
    uint8_t *dst = job->dst;
    for (size_t i = 0; i < pairs; i++, src += 16, dst += 2 * r_dst) {
        transpose_short(dst, src, q_src, r_dst, width, 8 / width, stream);
    }
    if (job->nr % 2 != 0) {
        pack_job last = *job;
        last.dst = dst;
        last.src = src;
        last.nr = 1;
        transpose_any(&last, width);
    }
}

FLAT void transpose(const pack_job *job, size_t width) {
    const size_t side = 16 / width, group = side * LANES;
    int whole = job->stream && tiles_aligned(job) && job->p_dst == (int64_t)(job->nq * width);
    int is_short = LANES > 1 && job->nq == side && job->p_dst == 16 && (!job->stream || whole);
    if (whole && LANES > 1 && job->nq == group && job->np % side == 0) {
        transpose_stream(job, width, 1);
    } else if (is_short && side / 2 % LANES == 0 && job->np == side / 2 && job->r_src == 8) {
        if (job->stream) {
            transpose_beside(job, width, 1);
        } else {
            transpose_beside(job, width, 0);
        }
    } else if (whole && job->nq == side && side >= 2 && job->np % (side / 2) == 0) {
        transpose_stream(job, width, 0);
    } else if (is_short && side % LANES == 0 && job->np % side == 0) {
        transpose_all_short(job, width);
    } else {
        transpose_any(job, width);
    }
}

FLAT void zip2_round(const pack_job *job, size_t width) {
    if (job->stream && tiles_aligned(job)) {
        zip2(job, width, 1);
    } else {
        zip2(job, width, 0);
    }
}

FLAT void zip4_round(const pack_job *job, size_t width) {
    if (width == 8) {
        transpose(job, width);
    } else if (job->stream && tiles_aligned(job)) {
        zip4(job, width, 1);
    } else {
        zip4(job, width, 0);
    }
}

#define DEFINE_KERNEL(NAME, ...)                                                                   \
    static void NAME(pack_job *job) {                                                              \
        for (size_t s = 0; s < job->ns; s++) {                                                     \
            __VA_ARGS__;                                                                           \
            pack_next_round(job);                                                                  \
        }                                                                                          \
    }

#define DEFINE_WIDTH(WIDTH)                                                                        \
    DEFINE_KERNEL(zip2_##WIDTH, zip2_round(job, WIDTH))                                            \
    DEFINE_KERNEL(zip4_##WIDTH, zip4_round(job, WIDTH))                                            \
    DEFINE_KERNEL(transpose_##WIDTH, transpose(job, WIDTH))

DEFINE_KERNEL(rows, rows_round(job))
DEFINE_WIDTH(1)
DEFINE_WIDTH(2)
DEFINE_WIDTH(4)
DEFINE_WIDTH(8)

static void fence(void) {
    v_fence();
}

const pack_kernels KERNELS = {
    rows,
    {transpose_1, transpose_2, transpose_4, transpose_8},
    {zip2_1, zip2_2, zip2_4, zip2_8},
    {zip4_1, zip4_2, zip4_4, zip4_8},
    fence,
};
