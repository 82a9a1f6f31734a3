/* The CPU backend on small cases: right results pass, and each check finds a result that was spoilt. */
#include "calib/cpu.h"

#include "calib/benchmarks.h"
#include "test.h"

static char why[200];

static void open_cpu(int n_threads)
{
    struct calib_machine machine = {.n_threads = n_threads};
    assert_true(calib_cpu.open(&machine, 5, why, sizeof why));
    assert_int_equal(machine.n_threads, n_threads);
    assert_true(machine.tick_s > 0 && machine.tick_s < 1e-3);
}

/* the smallest case of each benchmark that this backend has, in each type */
static struct calib_cases smallest(struct arena *perm)
{
    static const struct calib_request request = {
        .quick = true, .most_flop = 1e8, .most_B = 1e7, .n_devices = 1};
    struct calib_cases all = benchmark_cases(&request, perm);
    int n = 0;
    for (int i = 0; i < all.n; i++) {
        const struct calib_case *c = &all.cases[i];
        bool same = n > 0 && strcmp(all.cases[n - 1].benchmark, c->benchmark) == 0 &&
                    strcmp(all.cases[n - 1].dtype, c->dtype) == 0 &&
                    strcmp(all.cases[n - 1].layout, c->layout) == 0;
        if (!same && calib_cpu.supports(c, why, sizeof why)) all.cases[n++] = *c;
    }
    all.n = n;
    return all;
}

static void results_are_right(int n_threads, struct arena *perm)
{
    open_cpu(n_threads);
    struct calib_cases cases = smallest(perm);
    assert_true(cases.n >= 12);
    int n_checked = 0;
    for (int i = 0; i < cases.n; i++) {
        const struct calib_case *c = &cases.cases[i];
        assert_true(calib_cpu.prepare(c, why, sizeof why));
        double check = calib_cpu.check(c, why, sizeof why);
        if (!(check < 1)) fail_msg("%s: off by %g", benchmark_text(c, perm), check);
        n_checked += check >= 0;
        assert_true(calib_cpu.run(c, 3, why, sizeof why) >= 0);
        calib_cpu.release(c);
    }
    assert_true(n_checked >= 10);
    calib_cpu.close();
}

static void results_are_right_on_one_thread(void **state)
{
    results_are_right(1, *state);
}

static void results_are_right_on_three_threads(void **state)
{
    results_are_right(3, *state);
}

static const struct cpu_benchmark *find(const char *name)
{
    for (int b = 0; b < n_cpu_rows; b++) {
        if (strcmp(cpu_rows[b].name, name) == 0) return &cpu_rows[b];
    }
    for (int b = 0; b < n_cpu_products; b++) {
        if (strcmp(cpu_products[b].name, name) == 0) return &cpu_products[b];
    }
    return NULL;
}

static void spoil(void **where, const struct calib_case *c)
{
    /* the last number is off by the range of the data */
    bool wide = strcmp(c->dtype, "fp64") == 0 || strcmp(c->benchmark, "stream") == 0;
    int64_t n = c->m * c->n;
    if (strcmp(c->benchmark, "reduction") == 0) n = c->m;
    if (strcmp(c->benchmark, "attention") == 0) n = c->batch * c->m * c->k;
    if (strcmp(c->benchmark, "copy") == 0) n = (int64_t)c->size_B / 4;
    if (strcmp(c->benchmark, "stream") == 0) n = (int64_t)c->size_B / 24;
    if (wide) {
        ((double *)*where)[n - 1] += 1;
    } else {
        ((float *)*where)[n - 1] += 1;
    }
}

static void a_spoilt_result_is_found(void **state)
{
    open_cpu(1);
    struct calib_cases cases = smallest(*state);
    int n_spoilt = 0;
    for (int i = 0; i < cases.n; i++) {
        const struct calib_case *c = &cases.cases[i];
        const struct cpu_benchmark *benchmark = find(c->benchmark);
        if (!benchmark || !benchmark->check) continue;
        assert_true(calib_cpu.prepare(c, why, sizeof why));
        benchmark->run(c, 1);
        assert_true(benchmark->check(c) < 1);
        void **result[] = {&cpu.x, &cpu.y, &cpu.z};
        bool in_x = strcmp(c->benchmark, "optimizer") == 0 || strcmp(c->benchmark, "stream") == 0;
        spoil(result[benchmark->check == cpu_products[0].check || c->batch > 1 ? 2 : !in_x], c);
        if (!(benchmark->check(c) >= 1)) {
            fail_msg("%s: not found", benchmark_text(c, *state));
        }
        calib_cpu.release(c);
        n_spoilt++;
    }
    assert_true(n_spoilt >= 10);
    calib_cpu.close();
}

static void slices_cover_all_once(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 200; n += 7) {
        for (int parts = 1; parts < 6; parts++) {
            int64_t at = 0;
            for (int p = 0; p < parts; p++) {
                struct cpu_slice slice = cpu_slice(n, p, parts);
                if (slice.from < slice.to) {
                    assert_int_equal(slice.from, at);
                    at = slice.to;
                }
            }
            assert_int_equal(at, n);
        }
    }
}

static void what_is_not_finite_is_infinitely_wrong(void **state)
{
    (void)state;
    assert_close(cpu_worse(0.5, 1, 1, 0), 0.5, 0);
    assert_close(cpu_worse(0.5, 3, 1, 1), 2, 0);
    assert_true(isinf(cpu_worse(0, 1, 2, 0)));
    assert_true(isinf(cpu_worse(0, INFINITY, 2, 1)));
    assert_true(isinf(cpu_worse(0, NAN, 2, 1)));
}

/* more than alone by nothing but the machine's doing, which no test can foresee; but it takes time, and what
 * goes on beside it leaves the result as it is */
static void a_product_beside_copies_is_timed_and_right(void **state)
{
    (void)state;
    const char *const names[] = {"gemm_during_copy", "copy_during_gemm"};
    for (int threads = 1; threads <= 2; threads++) {
        open_cpu(threads);
        for (int b = 0; b < 2; b++) {
            struct calib_case c = {.benchmark = names[b],
                                   .dtype = "fp32",
                                   .layout = "nn",
                                   .batch = 1,
                                   .n_ranks = 1,
                                   .size_B = 1048576};
            c.m = c.n = c.k = 96;
            assert_true(calib_cpu.supports(&c, why, sizeof why));
            assert_true(calib_cpu.prepare(&c, why, sizeof why));
            double check = calib_cpu.check(&c, why, sizeof why);
            assert_true(check >= 0 && check < 1);
            double few_s = calib_cpu.run(&c, 2, why, sizeof why);
            double many_s = calib_cpu.run(&c, 100, why, sizeof why);
            /* several threads are timed by the wall clock, in which others have a say */
            assert_true(few_s > 0 && many_s > (threads == 1 ? 4 * few_s : 0));
            assert_true(cpu_beside[b].check(&c) < 1);
            calib_cpu.release(&c);
        }
        calib_cpu.close();
    }
}

static void what_a_cpu_lacks_is_said(void **state)
{
    (void)state;
    open_cpu(1);
    assert_false(calib_cpu.supports(&(struct calib_case){.benchmark = "peer", .dtype = ""}, why,
                                    sizeof why));
    assert_string_equal(why, "peer is not measured on a CPU");
    assert_false(calib_cpu.supports(&(struct calib_case){.benchmark = "gemm", .dtype = "fp8"}, why,
                                    sizeof why));
    assert_string_equal(why, "gemm in fp8 is not measured on a CPU");
    calib_cpu.close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right_on_one_thread),
        cmocka_unit_test(results_are_right_on_three_threads),
        cmocka_unit_test(a_spoilt_result_is_found),
        cmocka_unit_test(slices_cover_all_once),
        cmocka_unit_test(what_is_not_finite_is_infinitely_wrong),
        cmocka_unit_test(a_product_beside_copies_is_timed_and_right),
        cmocka_unit_test(what_a_cpu_lacks_is_said),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
