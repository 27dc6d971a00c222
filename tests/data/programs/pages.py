"""Fetches pages, reads each, and packs it: asyncio with one task too busy for a loop."""

import asyncio
import zlib

PAGES, READERS = 24, 4


async def fetch(number):
    await asyncio.sleep(0.004)
    return f"page {number} " * 2000


async def fetch_all(pages):
    for number in range(PAGES):
        await pages.put(await fetch(number))
    for _ in range(READERS):
        await pages.put(None)


def count(text):
    words = {}
    for word in text.split():  # on the loop: nobody else runs meanwhile
        words[word] = words.get(word, 0) + 1
    return words


async def read(pages):
    seen = 0
    while (text := await pages.get()) is not None:
        seen += len(count(text))
        await asyncio.to_thread(zlib.compress, text.encode() * 20)
    return seen


async def main():
    pages = asyncio.Queue(maxsize=READERS)
    readers = [asyncio.create_task(read(pages), name=f"reader {number}") for number in range(READERS)]
    await fetch_all(pages)
    print(f"{sum(await asyncio.gather(*readers))} words of {PAGES} pages")


if __name__ == "__main__":
    asyncio.run(main())
