#include "net/routing.h"

#include "test.h"

#include <string.h>

static void every_routing_is_found_by_its_name_and_has_a_source(void **state)
{
    (void)state;
    for (int i = 0; i < n_routings; i++) {
        assert_ptr_equal(routing_find(routings[i].name), &routings[i]);
        assert_string_equal(routing_names[i], routings[i].name);
        assert_true(strlen(routings[i].source) > 0 && strlen(routings[i].summary) > 0);
    }
    assert_null(routing_names[n_routings]);
    assert_null(routing_find("sprinkle"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_routing_is_found_by_its_name_and_has_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
