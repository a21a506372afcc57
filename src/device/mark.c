/* Nothing: a place in the list of loaded libraries (device/loads.hpp). */
typedef int nothing;
