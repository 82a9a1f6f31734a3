#include "workload/detection.h"

#include "rig.h"
#include "test.h"

static const struct layer *layer_named(const struct model *model, const char *name)
{
    for (int l = 0; l < model->n_layers; l++) {
        if (strcmp(model->layers[l].name, name) == 0) return &model->layers[l];
    }
    fail_msg("no layer %s in %s", name, model->name);
    return NULL;
}

/* Liu et al., SSD, sec. 3.1: maps of 38, 19, 10, 5, 3 and 1, in all 8732 boxes. */
static void ssd_has_8732_boxes(void **state)
{
    const struct model *model = rig_model("ssd300-r50", *state);
    static const int sides[] = {38, 19, 10, 5, 3, 1};
    double boxes = 0.0;
    for (int i = 0; i < 6; i++) {
        const struct layer *loc = layer_named(model, arena_text(*state, "loc.%d", i));
        assert_close(loc->m, (double)sides[i] * sides[i], 0.0);
        boxes += loc->m * loc->n / 4.0;
    }
    assert_close(boxes, 8732.0, 0.0);
}

/* 800 x 1344 has 200 x 336 points at a quarter and a quarter of those at each further level; three
 * anchors each: 3 (67200 + 16800 + 4200 + 1050 + 273). The last is 13 x 21: 25 and 42 halved. */
static void mask_rcnn_scores_every_anchor(void **state)
{
    const struct model *model = rig_model("maskrcnn-r50-fpn", *state);
    double anchors = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (strncmp(layer->name, "rpn.cls_logits", 14) == 0) anchors += layer->written_elements;
    }
    assert_close(anchors, 3.0 * (67200 + 16800 + 4200 + 1050 + 273), 0.0);
}

/* Stem and first stage are frozen: 9408 + 212992 weights that are no tensors. */
static void mask_rcnn_trains_from_the_second_stage_on(void **state)
{
    const struct model *model = rig_model("maskrcnn-r50-fpn", *state);
    double frozen = 0.0;
    for (int l = 0; l < model->n_layers; l++) frozen += model->layers[l].frozen_elements;
    assert_close(frozen, 222400.0, 0.0);
    assert_true(layer_named(model, "backbone.layer1.2.conv3")->forward_only);
    assert_false(layer_named(model, "backbone.layer2.0.conv1")->forward_only);
}

/* Shared heads run on all levels with one set of weights: 40^2 + 20^2 + 10^2 + 5^2 + 3^2 points. */
static void shared_heads_run_on_all_levels(void **state)
{
    const struct model *model = rig_model("ssd320-r50-fpn", *state);
    double points = 0.0;
    int n_tensors = 0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (strncmp(layer->name, "class.predict", 13) != 0) continue;
        points += layer->m;
        n_tensors += layer->n_tensors;
    }
    assert_close(points, 1600.0 + 400 + 100 + 25 + 9, 0.0);
    assert_int_equal(n_tensors, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssd_has_8732_boxes),
        cmocka_unit_test(mask_rcnn_scores_every_anchor),
        cmocka_unit_test(mask_rcnn_trains_from_the_second_stage_on),
        cmocka_unit_test(shared_heads_run_on_all_levels),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
