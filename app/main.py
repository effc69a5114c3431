"""The page's frame: what the browser tab shows and which views there are."""

from pathlib import Path

import streamlit as st

from app import login

LOGO = str(Path(__file__).with_name("logo.svg"))

st.set_page_config(page_title="Pivotline", page_icon=LOGO, layout="wide")
st.logo(LOGO, size="small")
page = st.navigation(
    [
        st.Page("views/overview.py", title="Overview", url_path="overview", default=True),
        st.Page("views/train.py", title="Train", url_path="train"),
        st.Page("views/runs.py", title="Runs", url_path="runs"),
        st.Page("views/size.py", title="Size", url_path="size"),
        st.Page("views/memory.py", title="Memory", url_path="memory"),
        st.Page("views/data.py", title="Data", url_path="data"),
        st.Page("views/registry.py", title="Registry", url_path="registry"),
        st.Page("views/predict.py", title="Predict", url_path="predict"),
    ],
    position="top" if login.is_in() else "hidden",
)
login.require()  # after the navigation, which keeps the address: who came for /train is on Train after the login
page.run()
