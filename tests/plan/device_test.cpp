#include "plan/device.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

TEST(Device, ShapesCountSectors) {
  const auto rows = device_shape(1 << 20, 1 << 20, std::int64_t{1} << 30);  // a byte in every KiB
  EXPECT_EQ(rows.sectors, 1 << 20);
  EXPECT_EQ(rows.runs, 1 << 20);
  EXPECT_EQ(rows.partial, 1 << 20);
  const auto dense = device_shape(1 << 20, 1 << 17, 1 << 21);  // every other double
  EXPECT_EQ(dense.sectors, (1 << 21) / 32);
  EXPECT_EQ(dense.runs, 1);
  const auto whole = device_shape(1 << 20, 1 << 10, 1 << 21);  // rows of 1 KiB
  EXPECT_EQ(whole.sectors, (1 << 20) / 32);
  EXPECT_EQ(whole.partial, 0);
  EXPECT_EQ(device_shape(0, 0, 0).sectors, 0);
}

// Kernel times measured on an H200 (docs/measurements, pack-device): the model is within a third of
// them.
TEST(Device, PredictionsAreNearWhatWasMeasured) {
  struct Row {
    std::int64_t size, blocks, span;
    bool pack;
    double us;
  };
  for (const auto& row :
       {Row{1 << 20, 1 << 20, std::int64_t{1} << 30, true, 40}, Row{1 << 20, 1 << 20, std::int64_t{1} << 30, false, 76},
        Row{512 << 20, 1 << 20, std::int64_t{1} << 30, true, 268}, Row{64 << 20, 1 << 17, 128 << 20, true, 44},
        Row{64 << 20, 8 << 20, 128 << 20, true, 57}}) {
    const auto predicted =
        predict(default_device_model(), device_shape(row.size, row.blocks, row.span), row.pack).time / 1000;
    EXPECT_NEAR(predicted, row.us, row.us / 3) << row.size << " bytes in " << row.blocks;
  }
}

TEST(Device, TheLimitIsALimit) {
  for (const bool pack : {true, false}) {
    const auto p = predict(default_device_model(), device_shape(1 << 24, 1 << 12, 1 << 26), pack);
    EXPECT_LT(p.limit, p.time);
  }
}

}  // namespace
}  // namespace dunnage::plan
