#include "base/evq.h"

#include "test.h"

/* xorshift64*, Marsaglia 2003 and Vigna 2016 */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ULL >> 32;
}

static void events_leave_in_order_of_time(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct evq *queue = evq_new(&scratch, 2);
    const double times_s[] = {3.0, -1.0, 2.0, 0.0, -0.0, HUGE_VAL, 1e-300, -HUGE_VAL, -2.0};
    const double sorted_s[] = {-HUGE_VAL, -2.0, -1.0, 0.0, 0.0, 1e-300, 2.0, 3.0, HUGE_VAL};
    enum { N = sizeof times_s / sizeof times_s[0] };
    for (int i = 0; i < N; i++) evq_push(queue, times_s[i], 7, i);
    for (int i = 0; i < N; i++) {
        struct event event = evq_pop(queue);
        assert_close(event.time_s, sorted_s[i], 0.0);
        assert_int_equal(event.kind, 7);
    }
    assert_true(evq_empty(queue));
}

static void zero_of_either_sign_is_one_time(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct evq *queue = evq_new(&scratch, 2);
    evq_push(queue, 0.0, 0, 1);
    evq_push(queue, -0.0, 0, 2);
    assert_int_equal(evq_pop(queue).id, 1);
    assert_int_equal(evq_pop(queue).id, 2);
}

static void equal_times_leave_in_the_order_they_came(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct evq *queue = evq_new(&scratch, 1);
    for (int i = 0; i < 5000; i++) evq_push(queue, 1.5, i % 3, i);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(evq_peek(queue).seq, i);
        struct event event = evq_pop(queue);
        assert_int_equal(event.id, i);
        assert_int_equal(event.kind, i % 3);
    }
}

/* The reference: a list kept sorted by insertion after all that are not later. */
struct list {
    struct event *events;
    int64_t n, seq;
};

static void list_push(struct list *list, double time_s, int32_t kind, int32_t id)
{
    int64_t i = list->n++;
    for (; i > 0 && list->events[i - 1].time_s > time_s; i--) list->events[i] = list->events[i - 1];
    list->events[i] = (struct event){.time_s = time_s, .seq = list->seq++, .kind = kind, .id = id};
}

static struct event list_pop(struct list *list)
{
    struct event first = list->events[0];
    list->n--;
    memmove(list->events, list->events + 1, (size_t)list->n * sizeof first);
    return first;
}

static void assert_same(struct event got, struct event want)
{
    assert_close(got.time_s, want.time_s, 0.0);
    assert_int_equal(got.seq, want.seq);
    assert_int_equal(got.kind, want.kind);
    assert_int_equal(got.id, want.id);
}

/* Times from few values tie in masses, from many hardly ever; the queue grows, shrinks and empties. */
static void any_mix_of_pushes_and_pops_agrees_with_a_sorted_list(void **state)
{
    enum { N_STEPS = 4000 };
    for (uint64_t turn = 1; turn <= 12; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct evq *queue = evq_new(&scratch, 4);
        struct list list = {.events = arena_new(&scratch, struct event, N_STEPS)};
        uint64_t seed = turn;
        uint64_t n_values = turn % 4 == 0 ? 1 : turn % 4 == 1 ? 5 : 1000000;
        for (int i = 0; i < N_STEPS; i++) {
            bool pushes = draw(&seed) % 100 < (i / 1000 % 2 == 0 ? 70 : 35);
            if (pushes || list.n == 0) {
                double time_s = ((double)(draw(&seed) % n_values) - 2.0) * 1e-6;
                int32_t kind = (int32_t)(draw(&seed) % 9);
                evq_push(queue, time_s, kind, i);
                list_push(&list, time_s, kind, i);
            } else {
                assert_same(evq_peek(queue), list.events[0]);
                assert_same(evq_pop(queue), list_pop(&list));
            }
            assert_int_equal(evq_size(queue), list.n);
        }
        while (list.n > 0) assert_same(evq_pop(queue), list_pop(&list));
        assert_true(evq_empty(queue));
    }
}

static void growth_keeps_a_hundred_thousand_events(void **state)
{
    enum { N = 100000 };
    struct arena scratch = *(struct arena *)*state;
    struct evq *queue = evq_new(&scratch, 1);
    for (int i = 0; i < N; i++) {
        int32_t id = (int32_t)((int64_t)i * 48271 % 65537); /* 65537 is prime: all residues come */
        evq_push(queue, (double)id, 0, id);
    }
    double last_s = -1.0;
    int64_t last_seq = -1;
    for (int i = 0; i < N; i++) {
        struct event event = evq_pop(queue);
        assert_close(event.time_s, (double)event.id, 0.0);
        assert_true(event.time_s > last_s || (event.time_s >= last_s && event.seq > last_seq));
        last_s = event.time_s;
        last_seq = event.seq;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_in_order_of_time),
        cmocka_unit_test(zero_of_either_sign_is_one_time),
        cmocka_unit_test(equal_times_leave_in_the_order_they_came),
        cmocka_unit_test(any_mix_of_pushes_and_pops_agrees_with_a_sorted_list),
        cmocka_unit_test(growth_keeps_a_hundred_thousand_events),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
