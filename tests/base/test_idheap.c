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

static void any_mix_of_set_remove_and_pop_agrees_with_a_search(void **state)
{
    struct arena scratch = *(struct arena *)*state;
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
            reference.key[id] = (double)(draw(&seed) % 20);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_leave_in_the_order_in_which_they_were_set),
        cmocka_unit_test(any_mix_of_set_remove_and_pop_agrees_with_a_search),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
