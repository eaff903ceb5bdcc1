/* The implementation as a library. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
