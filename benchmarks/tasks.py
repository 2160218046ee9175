"""The empty handler of the procrastinate comparison (procrastinate looks for it here)."""

from procrastinate.contrib.django import app


@app.task(name="take")
async def take(**payload: object) -> None:
    return
