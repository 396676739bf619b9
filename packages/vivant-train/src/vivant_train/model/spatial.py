"""The spatial branch: patch tokens of a few frames."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from vivant.core.errors import UsageError
from vivant_train.model.config import SpatialSettings
from vivant_train.model.vision_encoder import VisionEncoder


class SpatialBranch(nn.Module):  # type: ignore[misc]
    """Patch tokens of a few frames, averaged or joined to a grid."""

    def __init__(self, spatial: SpatialSettings, encoder_side: int, encoder_width: int) -> None:
        super().__init__()
        self.spatial = spatial
        self.side = encoder_side
        self.width = encoder_width
        if spatial.pool == "shuffle":
            if encoder_side % spatial.grid:
                raise UsageError(
                    f"model.spatial.grid is {spatial.grid}; to join neighbours it must divide {encoder_side}, "
                    "the patches along a side"
                )
            self.width = encoder_width * (encoder_side // spatial.grid) ** 2

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, frames, 3, side, side] → [videos, tokens, width]."""
        return self.pool_patches(encoder(pixels.flatten(0, 1)).unflatten(0, pixels.shape[:2]))

    def pool_patches(self, seen: Tensor) -> Tensor:
        """[videos, frames, patches, encoder's width] → [videos, tokens, width]."""
        videos, frames = seen.shape[:2]
        if self.spatial.pool == "shuffle":
            return (
                join_neighbours(seen.flatten(0, 1), self.side, self.spatial.grid)
                .unflatten(0, (videos, frames))
                .flatten(1, 2)
            )
        grid = seen.flatten(0, 1).transpose(1, 2).unflatten(2, (self.side, self.side))
        pool = (
            functional.adaptive_max_pool2d if self.spatial.pool == "max" else functional.adaptive_avg_pool2d
        )
        pooled = pool(grid, self.spatial.grid).flatten(2).transpose(1, 2).unflatten(0, (videos, frames))
        if self.spatial.pool == "frames":
            return pooled.flatten(1, 2)
        return pooled.amax(1) if self.spatial.pool == "max" else pooled.mean(1)


def join_neighbours(patches: Tensor, side: int, grid: int) -> Tensor:
    """InternVL's pixel shuffle (its second version): square groups of neighbours become one wide token.

    Channels are ordered by row in the group, column in the group, then the patch's own.
    """
    cell = side // grid
    cut = patches.unflatten(1, (grid, cell, grid, cell))
    return cut.permute(0, 1, 3, 2, 4, 5).flatten(3).flatten(1, 2)
