#include "base/idheap.h"

#include "test.h"

/* xorshift64*, Marsaglia 2003 and Vigna 2016 */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ULL >> 32;
}

static void equal_keys_leave_in_the_order_in_which_they_were_set(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct idheap heap = {.perm = &scratch};
    idheap_reserve(&heap, 100);
    for (int32_t id = 99; id >= 0; id--) idheap_set(&heap, id, 1.0);
    idheap_set(&heap, 50, 1.0); /* set again: it goes to the end */
    for (int32_t id = 99; id >= 0; id--) {
        if (id != 50) assert_int_equal(idheap_pop(&heap), id);
    }
    assert_int_equal(idheap_pop(&heap), 50);
    assert_int_equal(heap.n, 0);
}

struct reference {
    double key[64];
    int when[64]; /* 0: not there */
};

static int32_t least(const struct reference *reference)
{
    int32_t best = -1;
    for (int32_t id = 0; id < 64; id++) {
        if (!reference->when[id]) continue;
        bool first = best < 0 || reference->key[id] < reference->key[best] ||
                     (reference->key[id] <= reference->key[best] &&
                      reference->when[id] < reference->when[best]);
        if (first) best = id;
    }
    return best;
}

/* New keys are drawn out of N_KEYS from a base that rises by `slope` per turn. */
static void agree_with_a_search(struct arena scratch, double slope)
{
    enum { N_KEYS = 20 };
    struct idheap heap = {.perm = &scratch};
    struct reference reference = {.when = {0}};
    idheap_reserve(&heap, 8);
    idheap_reserve(&heap, 64);
    uint64_t seed = 42;
    int n = 0;
    for (int i = 1; i < 20000; i++) {
        int32_t id = (int32_t)(draw(&seed) % 64);
        uint64_t what = draw(&seed) % 8;
        if (what < 5) {
            reference.key[id] = floor(i * slope) + (double)(draw(&seed) % N_KEYS);
            n += reference.when[id] == 0;
            reference.when[id] = i;
            idheap_set(&heap, id, reference.key[id]);
        } else if (what == 5) {
            n -= reference.when[id] != 0;
            reference.when[id] = 0;
            idheap_remove(&heap, id);
        } else if (n > 0) {
            int32_t want = least(&reference);
            assert_int_equal(idheap_pop(&heap), want);
            reference.when[want] = 0;
            n--;
        }
        assert_int_equal(heap.n, n);
        assert_int_equal(idheap_has(&heap, id), reference.when[id] != 0);
    }
}

static void any_mix_of_set_remove_and_pop_agrees_with_a_search(void **state)
{
    agree_with_a_search(*(struct arena *)*state, 0.0);
}

/* At 100 a turn every key is the largest so far; at 5 most are, and the rest is not. */
static void so_it_does_when_keys_come_in_rising_order(void **state)
{
    agree_with_a_search(*(struct arena *)*state, 100.0);
    agree_with_a_search(*(struct arena *)*state, 5.0);
}

/* Ids leave from the middle while the line goes round and grows. */
static void rising_keys_that_are_taken_out_leave_no_trace(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct idheap heap = {.perm = &scratch};
    idheap_reserve(&heap, 1000);
    for (int32_t id = 0; id < 1000; id++) {
        idheap_set(&heap, id, id);
        if (id % 3 == 1) idheap_remove(&heap, id);
        if (id % 5 == 4) idheap_pop(&heap);
    }
    /* 667 stay out of 1,000, the first 200 of them were popped: ids 0, 2, 3, 5, ..., 299 */
    assert_int_equal(heap.n, 467);
    for (int32_t id = 300; id < 1000; id++) {
        if (id % 3 != 1) assert_int_equal(idheap_pop(&heap), id);
    }
    assert_int_equal(heap.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_leave_in_the_order_in_which_they_were_set),
        cmocka_unit_test(any_mix_of_set_remove_and_pop_agrees_with_a_search),
        cmocka_unit_test(so_it_does_when_keys_come_in_rising_order),
        cmocka_unit_test(rising_keys_that_are_taken_out_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
