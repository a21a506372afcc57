/* An empty library. Its entry in the list of loaded libraries is all that counts
   (device/loads.hpp). */
typedef int nothing;
