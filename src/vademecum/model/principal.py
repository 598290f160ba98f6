"""Who is asking, and what may they see?"""

from dataclasses import dataclass

from vademecum.model.ids import Principal, Tenant

TENANT_LABEL = "tenant"
LOCAL_PRINCIPAL = Principal("user:local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What every read takes. Built from a credential, never from a request's content.

    A document is visible when its access labels and `labels` share one, or when `operator` is
    set. `collections` narrows further; None means every collection.
    """

    tenant: Tenant
    principal: Principal
    labels: frozenset[str]
    collections: frozenset[str] | None
    operator: bool

    def __post_init__(self) -> None:
        if not self.tenant or not self.principal:
            raise ValueError("a scope needs a tenant and a principal")

    def allows(self, collection: str) -> bool:
        """Tell whether a collection is one of those that the scope is narrowed to."""
        return self.collections is None or collection in self.collections

    def as_person(self) -> "Scope":
        """The same principal without the operator's sight, in every collection: whose own things
        are meant."""
        return Scope.for_principal(self.tenant, self.principal, self.labels)

    @classmethod
    def for_operator(cls, tenant: str) -> "Scope":
        """The scope of whoever runs the tenant: sees every document of it."""
        return cls(
            tenant=Tenant(tenant),
            principal=LOCAL_PRINCIPAL,
            labels=frozenset({TENANT_LABEL, LOCAL_PRINCIPAL}),
            collections=None,
            operator=True,
        )

    @classmethod
    def for_principal(cls, tenant: str, principal: str, labels: frozenset[str]) -> "Scope":
        """The scope of one principal: its own label, `tenant`, and those its credential gives."""
        return cls(
            tenant=Tenant(tenant),
            principal=Principal(principal),
            labels=labels | {TENANT_LABEL, principal},
            collections=None,
            operator=False,
        )
