"""For scikit-learn users: PrivateSearchCV in the place of GridSearchCV.

The breast cancer table bundled with scikit-learn stands in for patients. Half of the rows train the models and are not
protected; the other half choose among the models, and are. With 284 private rows the noise is large: the search asks
few questions, and a budget of epsilon = 3.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit


def main() -> None:
    patients, ill = load_breast_cancer(return_X_y=True, as_frame=True)
    search = tacit.PrivateSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": tacit.Float(1e-5, 1e2, log=True)},
        epsilon=3.0,
        delta=1e-6,
        trials=12,
        random_state=0,
    )
    search.fit(patients, ill)
    print(f"Best parameters  {search.best_params_}")
    print(f"Accuracy         {search.best_score_:.3f} ± {search.best_score_std_:.3f}")
    print(f"Guarantee        {search.guarantee_}")
    print(f"What it covers   {search.protects_}")
    print(f"Predictions      {search.predict(patients.head(5)).tolist()}")


if __name__ == "__main__":
    main()
