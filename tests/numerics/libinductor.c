#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
