#include "io/layers.h"

#include "test.h"

static struct model *read_text(const char *text, struct diag *diag, struct arena *perm)
{
    *diag = (struct diag){.perm = perm};
    return layers_read_text("layers.csv", text, strlen(text), perm, diag);
}

static void a_full_table_becomes_a_model(void **state)
{
    struct diag diag;
    struct model *model = read_text(
        "name,kind,parameters,flop,read_elements,written_elements,kept_elements,kernels,fused\n"
        "conv1,conv,64x3x7x7;64,236027904,150528,802816,150528,2,no\n"
        "relu,elementwise,,802816,802816,802816,802816,1,yes\n"
        "fc,linear,\"1000x64;1000;5\",128000,64,1000,0,1,yes\n",
        &diag, *state);
    assert_true(diag_ok(&diag));
    assert_non_null(model);
    model_check(model);
    assert_int_equal(model->n_layers, 3);
    assert_int_equal(model->n_tensors, 5);
    assert_int_equal(model->tensors[0].n_elements, 64 * 3 * 7 * 7);
    assert_string_equal(model->tensors[0].name, "conv1.weight");
    assert_string_equal(model->tensors[1].name, "conv1.bias");
    assert_string_equal(model->tensors[4].name, "fc.tensor2");
    assert_int_equal(model_n_parameters(model), 9408 + 64 + 64000 + 1000 + 5);
    assert_int_equal(model->layers[0].n_kernels, 2);
    assert_int_equal(model->layers[1].kind, LAYER_ELEMENTWISE);
    assert_true(model->layers[2].fused);
    assert_close(model_flop_per_sample(model), 236027904.0 + 128000.0, 0);
}

/* Four columns are enough: nothing moved, one kernel, kept = written, fused unless it is a product. */
static void missing_columns_have_defaults(void **state)
{
    struct diag diag;
    struct model *model =
        read_text("kind,flop,name,parameters\nlinear,10,a,7\nnorm,,b,\n", &diag, *state);
    assert_non_null(model);
    assert_int_equal(model->layers[0].n_kernels, 1);
    assert_false(model->layers[0].fused);
    assert_true(model->layers[1].fused);
    assert_close(model->layers[1].flop, 0, 0);
    assert_int_equal(model->layers[1].n_tensors, 0);
    model = read_text("name,kind,parameters,flop,written_elements\na,pool,1,2,33\n", &diag, *state);
    assert_non_null(model);
    assert_close(model->layers[0].kept_elements, 33, 0);
}

static void each_fault_is_named_with_its_line(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"name,kind,parameters,flop\na,convv,1,1\n",
         "layers.csv:2: kind: unknown kind \"convv\" (did you mean \"conv\"?)"},
        {"name,kind,parameters,flop\na,quantum,1,1\n",
         "layers.csv:2: kind: unknown kind \"quantum\" (conv, linear, norm, elementwise, pool, "
         "embedding, attention or loss)"},
        {"name,kind,parameters,flop\n,conv,1,1\n", "layers.csv:2: name: a layer without a name"},
        {"name,kind,parameters,flop\na,conv,1,1\nb,conv,3y4,1\n",
         "layers.csv:3: parameters: \"3y4\" (shapes such as 64x3x7x7;64, at most 64, each of 1 to "
         "1e12 elements)"},
        {"name,kind,parameters,flop,kernels\na,conv,1,1,1.5\n",
         "layers.csv:2: kernels: 1.5 kernels (a whole number)"},
        {"name,kind,parameters,flop,fused\na,conv,1,1,maybe\n",
         "layers.csv:2: fused: \"maybe\" (yes or no)"},
        {"name,kind,parameters,flop,kerns\na,conv,1,1,1\n",
         "layers.csv:1: kerns: unknown column (did you mean \"kernels\"?)"},
        {"name,kind,parameters,flop\na,pool,,1\n",
         "layers.csv: no layer has parameters (nothing to train)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        assert_null(read_text(cases[i].text, &diag, *state));
        assert_int_equal(diag.n_messages, 1);
        assert_string_equal(diag.messages[0], cases[i].message);
    }
}

/* Faults whose words belong to the table reader: only that they are found, and where. */
static void bad_numbers_and_tables_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "name,kind,parameters\na,conv,1\n",                          /* no flop */
        "name,kind,parameters,flop\na,conv,1,-1\n",                  /* negative */
        "name,kind,parameters,flop\na,conv,1,1e999\n",               /* overflow */
        "name,kind,parameters,flop\na,conv,1,nan\n",                 /* no number */
        "name,kind,parameters,flop\na,conv,1,2e18\n",                /* too much */
        "name,kind,parameters,flop\na,conv,1\n",                     /* ragged */
        "name,kind,parameters,flop\na,conv,0,1\n",                   /* an empty tensor */
        "name,kind,parameters,flop\na,conv,5x0,1\n",                 /* likewise */
        "name,kind,parameters,flop\na,conv,5x,1\n",                  /* half a shape */
        "name,kind,parameters,flop\na,conv,5;,1\n",                  /* half a list */
        "name,kind,parameters,flop\na,conv,;5,1\n",                  /* likewise */
        "name,kind,parameters,flop\na,conv,-5,1\n",                  /* negative */
        "name,kind,parameters,flop\na,conv,1000001x1000000,1\n",     /* more than 1e12 */
        "name,kind,parameters,flop\na,conv,99999999999999999999,1\n" /* more than 64 bits */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diag diag;
        assert_null(read_text(texts[i], &diag, *state));
        assert_false(diag_ok(&diag));
    }
}

static void all_faults_are_reported_at_once(void **state)
{
    struct diag diag;
    assert_null(
        read_text("name,kind,parameters,flop\na,x,1,1\nb,conv,x,1\nc,conv,1,-1\n", &diag, *state));
    assert_int_equal(diag.n_messages, 3);
}

/* 64 tensors in a layer are taken, one more is not. */
static void tensors_of_a_layer_are_bounded(void **state)
{
    for (int n = LAYERS_MAX_TENSORS; n <= LAYERS_MAX_TENSORS + 1; n++) {
        struct diag diag;
        char *text = arena_text(*state, "name,kind,parameters,flop\na,conv,1");
        for (int i = 1; i < n; i++) text = arena_text(*state, "%s;1", text);
        struct model *model = read_text(arena_text(*state, "%s,1\n", text), &diag, *state);
        assert_int_equal(model != NULL, n == LAYERS_MAX_TENSORS);
    }
}

static void a_missing_file_is_an_error(void **state)
{
    struct diag diag = {.perm = *state};
    assert_null(layers_read("tests/io/no-such-layers.csv", *state, &diag));
    assert_int_equal(diag.n_messages, 1);
}

/* An error that stands in diag already does not turn a good table into a bad one. */
static void errors_elsewhere_do_not_hide_the_model(void **state)
{
    struct diag diag = {.perm = *state};
    diag_error(&diag, (struct diag_place){.file = "scenario.json"}, "something else");
    static const char text[] = "name,kind,parameters,flop\na,conv,1,1\n";
    assert_non_null(layers_read_text("layers.csv", text, strlen(text), *state, &diag));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_table_becomes_a_model),
        cmocka_unit_test(missing_columns_have_defaults),
        cmocka_unit_test(each_fault_is_named_with_its_line),
        cmocka_unit_test(bad_numbers_and_tables_are_refused),
        cmocka_unit_test(all_faults_are_reported_at_once),
        cmocka_unit_test(tensors_of_a_layer_are_bounded),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(errors_elsewhere_do_not_hide_the_model),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
