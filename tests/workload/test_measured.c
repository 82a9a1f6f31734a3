/* What was measured on a GPU: parts are found by kind and type, products outside of the range are
 * counted. */
#include "workload/measured.h"

#include "test.h"
#include "workload/builder.h"

static const struct measured_part parts[] = {
    {.part = "product", .dtype = "fp16", .unit = "FLOP", .least = 1e6, .most = 1e9},
    {.part = "memory", .dtype = "", .unit = "B", .least = 1e3, .most = 1e9},
};
static const struct measured measured = {.device = "rig", .date = "", .parts = parts, .n_parts = 2};

static void a_part_is_found_by_its_type_or_for_all_types(void **state)
{
    (void)state;
    assert_ptr_equal(measured_find(&measured, MEASURED_PRODUCT, DTYPE_FP16), &parts[0]);
    assert_ptr_equal(measured_find(&measured, MEASURED_MEMORY, DTYPE_FP16), &parts[1]);
    assert_null(measured_find(&measured, MEASURED_PRODUCT, DTYPE_FP32));
    assert_null(measured_find(&measured, MEASURED_NETWORK, DTYPE_FP32));
    assert_null(measured_find(NULL, MEASURED_PRODUCT, DTYPE_FP16));
}

/* linear layers of 10 x 30 x 20: 12,000 FLOP a sample; 100 samples are 1.2e6 and inside, 50 are 6e5
 * and below, 1e6 are 1.2e10 and above */
static void products_outside_of_the_measured_range_are_counted(void **state)
{
    struct builder b = builder_open("two", "row", "made up", *state);
    for (int i = 0; i < 2; i++) {
        builder_layer(&b, (struct layer){.name = "layer",
                                         .kind = LAYER_LINEAR,
                                         .m = 10,
                                         .n = 30,
                                         .k = 20,
                                         .n_products = 1,
                                         .flop = 12000,
                                         .n_kernels = 1});
        builder_tensor(&b, "weight", 600);
    }
    assert_int_equal(measured_products(&parts[0], b.model, 100).n_outside, 0);
    struct measured_range below = measured_products(&parts[0], b.model, 50);
    assert_int_equal(below.n, 2);
    assert_int_equal(below.n_outside, 2);
    assert_close(below.least, 6e5, 1e-12);
    assert_close(measured_products(&parts[0], b.model, 1e6).most, 1.2e10, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_found_by_its_type_or_for_all_types),
        cmocka_unit_test(products_outside_of_the_measured_range_are_counted),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
