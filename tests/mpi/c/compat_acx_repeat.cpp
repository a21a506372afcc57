#define DUNNAGE_MESSAGES_REPEAT
#include "compat_acx.cpp"
