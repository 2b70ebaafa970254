"""Probabilities of cancer by kernel logistic regression, from all samples and from a few, beside Platt's for an SVC."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogistic

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)

whole = KernelLogistic(C=10.0, gamma=0.01).fit(X, y)
few = KernelLogistic(C=10.0, gamma=0.01, max_basis=12).fit(X, y)
platt = CalibratedClassifierCV(SVC(C=10.0, gamma=0.01), method="sigmoid").fit(X, y)

print("certificate of all samples", whole.certificate_)
print("certificate of a few      ", few.certificate_)
print(f"all samples could lower the objective of the few by at most {few.basis_gap_:.3f}")
print()
print("                         samples   log-loss   accuracy")
for name, machine, size in (
    ("KernelLogistic", whole, len(whole.expansion_)),
    ("KernelLogistic, few", few, len(few.expansion_)),
    ("SVC and Platt's sigmoid", platt, len(X)),
):
    loss = log_loss(y_new, machine.predict_proba(X_new))
    print(f"{name:24s} {size:7d}   {loss:8.4f}   {machine.score(X_new, y_new):8.3f}")
