// One function a format. Each hands its rows to the checker and throws InputError at the first that is wrong.
#pragma once

#include "traces/byte_source.hpp"
#include "traces/read.hpp"
#include "traces/row_checker.hpp"

namespace servecast::readers {

using ReadRows = void (*)(BufferedInput& input, const ReadOptions& options, RowChecker& rows);

void read_servecast_csv(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_servecast_jsonl(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_azure(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_burstgpt(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_vidur(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_llmservingsim(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_apex_plus(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_mooncake(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_vllm_bench(BufferedInput& input, const ReadOptions& options, RowChecker& rows);
void read_sharegpt(BufferedInput& input, const ReadOptions& options, RowChecker& rows);

}  // namespace servecast::readers
