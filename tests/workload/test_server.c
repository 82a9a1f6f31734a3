#include "rig.h"
#include "test.h"

#include "workload/step.h"

static const struct program *server_program(const char *model, int n_servers, struct arena *perm)
{
    struct train_spec spec = rig_spec("parameter-server");
    spec.n_servers = n_servers;
    struct gpu gpu = rig_gpu();
    return rig_job(&spec, rig_model(model, perm), &gpu, perm)->programs;
}

static double on_server_B(const struct program *program, int server)
{
    double sum_B = 0.0;
    for (int i = 0; i < program->n_ops; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_COLLECTIVE && op->root == server) sum_B += op->size_B;
    }
    return sum_B;
}

/* Server s holds tensors s, s + k, s + 2 k, ... whole. */
static void tensors_are_dealt_out_in_turn(void **state)
{
    static const int counts[] = {1, 2, 3, 8, 64, 1000};
    const struct model *model = rig_model("resnet50", *state);
    for (int c = 0; c < 6; c++) {
        int k = counts[c];
        const struct program *program = server_program("resnet50", k, *state);
        for (int s = 0; s < k; s++) {
            double wanted_B = 0.0;
            for (int t = s; t < model->n_tensors; t += k) {
                wanted_B += 4.0 * (double)model->tensors[t].n_elements;
            }
            assert_close(on_server_B(program, s), wanted_B, 0);
        }
    }
}

/* VGG-16: the first wide layer, 102,760,448 of 138,357,544 parameters, sits on one server whatever
 * k. */
static void a_big_tensor_stays_whole(void **state)
{
    const struct program *program = server_program("vgg16", 16, *state);
    double most_B = 0.0;
    for (int s = 0; s < 16; s++) most_B = fmax(most_B, on_server_B(program, s));
    assert_true(most_B >= 4.0 * 102760448);
}

/* ResNet-50, 161 tensors. Two servers: the weight and bias of a layer part, so every
 * tensor goes alone: 161. One server: together: 53 convolutions + 53 norms + fc = 107. */
static void gradients_of_a_layer_on_a_server_travel_together(void **state)
{
    assert_int_equal(rig_n_collectives(server_program("resnet50", 2, *state)), 161);
    assert_int_equal(rig_n_collectives(server_program("resnet50", 1, *state)), 107);
}

/* Each server has a stream of its own; the GPUs of a node are one worker unless told otherwise. */
static void servers_work_side_by_side(void **state)
{
    const struct program *program = server_program("resnet50", 5, *state);
    assert_int_equal(program->n_streams, STREAM_FIRST_OF_STRATEGY + 5);
    for (int i = 0; i < program->n_ops; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind != OP_COLLECTIVE) continue;
        assert_int_equal(op->stream, STREAM_FIRST_OF_STRATEGY + op->root);
        assert_int_equal(op->coll, COLL_ALLREDUCE);
        assert_string_equal(op->algorithm, "local-parameter-server");
    }
}

static void no_number_means_one_server_a_node(void **state)
{
    struct train_spec spec = rig_spec("parameter-server");
    spec.n_nodes = 7;
    struct gpu gpu = rig_gpu();
    const struct job *job = rig_job(&spec, rig_model("alexnet", *state), &gpu, *state);
    assert_int_equal(job->comms[0].n_servers, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_dealt_out_in_turn),
        cmocka_unit_test(a_big_tensor_stays_whole),
        cmocka_unit_test(gradients_of_a_layer_on_a_server_travel_together),
        cmocka_unit_test(servers_work_side_by_side),
        cmocka_unit_test(no_number_means_one_server_a_node),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
