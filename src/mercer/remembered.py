"""Attributes that are found when they are first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class remembered(Generic[T]):  # noqa: N801 - it is read as a decorator
    """What ``functools.cached_property`` does, without the lock that it has before Python 3.12.

    That lock is one for all objects of a class: a process forked while another thread is at it would wait for ever. Of
    threads that ask at the same time each finds the value, and one of the equal values is kept.

    >>> class Circle:
    ...     @remembered
    ...     def area(self):
    ...         print("found")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    found
    (3.14, 3.14)
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = self.find(instance)
        instance.__dict__[self.name] = value  # found before the descriptor from now on
        return value
