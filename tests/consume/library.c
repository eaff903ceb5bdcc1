/* cc -std=c11 -c -fPIC -I../.. library.c
   The file of an engine that holds the implementation and nothing else. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
