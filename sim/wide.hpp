#pragma once

namespace servecast {

// Exact sums of nanoseconds times counts, which pass 2^63.
__extension__ using Wide = __int128;

}  // namespace servecast
