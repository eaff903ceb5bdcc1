/* The runtime of exported models, once per program. */
#define IND_RUNTIME_ONLY
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor_runtime.h"
