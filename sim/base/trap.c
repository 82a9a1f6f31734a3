#include "base/trap.h"

#include <fenv.h>

int trap_on(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    return feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

void trap_restore(int before)
{
    fedisableexcept(FE_ALL_EXCEPT);
    feenableexcept(before);
}
