#include "base/utf8.h"

#include "test.h"

#include <string.h>

static size_t length_of(const char *text)
{
    return utf8_length(text, text + strlen(text));
}

static void characters_have_one_to_four_bytes(void **state)
{
    (void)state;
    assert_int_equal(length_of("a"), 1);
    assert_int_equal(length_of("\xc3\xa9"), 2);         /* U+00E9 */
    assert_int_equal(length_of("\xe2\x82\xac"), 3);     /* U+20AC */
    assert_int_equal(length_of("\xf0\x9f\x98\x80"), 4); /* U+1F600 */
    assert_int_equal(length_of("\xf4\x8f\xbf\xbf"), 4); /* U+10FFFF, the last */
}

static void what_is_no_character_has_no_length(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",             /* a later byte first */
        "\xff",             /* never in UTF-8 */
        "\xc3",             /* cut off */
        "\xe2\x82",         /* cut off */
        "\xc3z",            /* no later byte */
        "\xc0\xaf",         /* '/' in two bytes */
        "\xe0\x80\xaf",     /* '/' in three bytes */
        "\xed\xa0\x80",     /* U+D800, half of a pair */
        "\xf4\x90\x80\x80", /* U+110000 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(length_of(bad[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_have_one_to_four_bytes),
        cmocka_unit_test(what_is_no_character_has_no_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
