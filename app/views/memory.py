"""Memory"""

import streamlit as st

st.title("Memory", anchor=False)
