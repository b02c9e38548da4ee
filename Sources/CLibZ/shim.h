// This source file is part of the Optimist open source project, under the MIT licence.
#include <zlib.h>
