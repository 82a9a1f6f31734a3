#include "workload/brick.h"

#include "test.h"

static struct builder fresh(struct arena *perm)
{
    return builder_open("m", "image", "made up", perm);
}

static const struct layer *last(const struct builder *b)
{
    return &b->model->layers[b->model->n_layers - 1];
}

/* 64 channels in 32 groups of 2, 3x3, to 128: each group is 28^2 points by 4 channels, a sum over 2
 * x 9; the weights are 128 x 18. */
static void groups_are_products_of_their_own(void **state)
{
    struct builder b = fresh(*state);
    struct shape out = brick_conv(&b, "c", shape_image(64, 28, 28), 128,
                                  window_grouped(window_square(3, 1, 1), 32));
    assert_int_equal(out.h, 28);
    assert_close(last(&b)->m, 784.0, 0.0);
    assert_close(last(&b)->n, 4.0, 0.0);
    assert_close(last(&b)->k, 18.0, 0.0);
    assert_close(last(&b)->n_products, 32.0, 0.0);
    assert_close(last(&b)->flop, 2.0 * 784 * 128 * 18, 0.0);
    assert_int_equal(model_n_parameters(b.model), 128 * 18);
}

/* A transposed convolution of 2x2x2 and stride 2 multiplies each of 4^3 points of 8 channels into 8
 * points of 16 channels. */
static void enlarging_costs_the_small_volume_times_the_window(void **state)
{
    struct builder b = fresh(*state);
    struct shape out = brick_conv_up(&b, "u", (struct shape){8, 4, 4, 4}, 16, window_cube(2, 2, 0));
    assert_int_equal(out.d, 8);
    assert_int_equal(out.c, 16);
    assert_close(last(&b)->flop, 2.0 * 64 * 8 * 16 * 8, 0.0);
    assert_int_equal(model_n_parameters(b.model), 8 * 16 * 8);
}

/* 3x3 with dilation 4 sees 9x9 points; padded by 4 it keeps the size. Of 11 frames a window of 5
 * with stride 2 and padding 2 makes (11 + 4 - 5) / 2 + 1 = 6. */
static void windows_leave_the_size_they_should(void **state)
{
    (void)state;
    struct window spread = window_dilated(window_square(3, 1, 1), 4);
    struct shape kept = window_shape(shape_image(1, 65, 33), spread, 7);
    assert_int_equal(kept.h, 65);
    assert_int_equal(kept.w, 33);
    assert_int_equal(kept.c, 7);
    assert_int_equal(window_shape(shape_sound(1, 11), window_span(5, 2, 2), 1).w, 6);
}

/* Fused attention of 100 queries on 50 keys, 64 wide: the FLOP of the two products that it fuses, and
 * the scores' once more in backward; no 100 x 50 square is kept. */
static void fused_attention_computes_as_much_and_keeps_no_square(void **state)
{
    const struct attention a = {.queries = 100, .keys = 50, .width = 64, .heads = 4};
    struct builder apart = fresh(*state), fused = fresh(*state);
    brick_attention(&apart, "a", &a);
    brick_fused_attention(&fused, "f", &a);
    assert_close(last(&fused)->flop, model_flop_per_sample(apart.model), 1e-12);
    assert_close(last(&fused)->recomputed_flop, 2.0 * 100 * 50 * 64, 0.0);
    assert_close(model_kept_elements(apart.model) - model_kept_elements(fused.model),
                 (100 + 2.0 * 50) * 64 + 2.5 * 4 * 100 * 50 - 2.0 * 150 * 64, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_products_of_their_own),
        cmocka_unit_test(enlarging_costs_the_small_volume_times_the_window),
        cmocka_unit_test(windows_leave_the_size_they_should),
        cmocka_unit_test(fused_attention_computes_as_much_and_keeps_no_square),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
