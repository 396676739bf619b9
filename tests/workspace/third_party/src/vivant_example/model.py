from vivant.core.types import Request


class Shortest:
    async def generate(self, request: Request) -> str:
        return min(request.options, key=lambda option: len(option.text)).name
